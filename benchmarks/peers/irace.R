# Rscript irace.R FOLDER SEED PORT: irace with capping on the problem described in FOLDER. Its runs are made by the referee,
# asked over a socket from an R function, so that no process is started for a call.
suppressPackageStartupMessages(library(irace))
arguments <- commandArgs(trailingOnly = TRUE)
folder <- arguments[1]
seed <- as.integer(arguments[2])
told <- readLines(file.path(folder, "irace.txt")) # cutoff, budget, deterministic
connection <- socketConnection("127.0.0.1", as.integer(arguments[3]), blocking = TRUE, open = "r+", timeout = 3600)

own <- function() sum(proc.time()[c("user.self", "sys.self")])
say <- function(kind, ...) writeLines(paste(kind, sprintf("%.6f", own()), ..., sep = "\t"), connection)
words <- function(configuration) {
  configuration <- as.list(configuration)
  values <- configuration[!is.na(configuration) & !startsWith(names(configuration), ".")]
  paste(gsub(".", "-", names(values), fixed = TRUE), vapply(values, as.character, ""), sep = "=", collapse = "\t")
}

target_runner <- function(experiment, scenario) {
  bound <- if (is.null(experiment$bound)) scenario$boundMax else experiment$bound
  instance <- scenario$instances[experiment$id.instance]
  say("RUN", instance, experiment$seed, format(bound, digits = 15), words(experiment$configuration))
  answer <- strsplit(readLines(connection, n = 1), "\t")[[1]]
  if (answer[1] == "STOP") stop("the referee stops us")
  seconds <- as.numeric(answer[2])
  cost <- if (answer[1] == "CRASHED") scenario$boundMax else seconds
  list(cost = cost, time = seconds)
}

log <- file.path(folder, "irace.Rdata")
unlink(log)
parameters <- readParameters(file = file.path(folder, "parameters.txt"))
forbidden <- file.path(folder, "forbidden.txt")
scenario <- list(
  targetRunner = target_runner, instances = readLines(file.path(folder, "instances.txt")), trainInstancesDir = "",
  configurationsFile = file.path(folder, "default.txt"), maxTime = as.numeric(told[2]), capping = TRUE,
  boundMax = as.numeric(told[1]), boundDigits = 2, boundPar = 10, deterministic = as.integer(told[3]), seed = seed,
  logFile = log, forbiddenFile = if (file.size(forbidden) > 0) forbidden else ""
)
say("HELLO")
outcome <- try(irace(scenario = scenario, parameters = parameters))

if (file.exists(log)) { # what was best after each iteration, by the number of runs made until then
  load(log)
  done <- iraceResults$experimentLog[, "iteration"]
  for (iteration in seq_along(iraceResults$iterationElites)) {
    id <- iraceResults$iterationElites[iteration]
    best <- iraceResults$allConfigurations[iraceResults$allConfigurations$.ID. == id, ]
    say("AFTER", sum(done <= iteration), words(as.list(best)))
  }
} else { # its first runs were so long that it takes the budget for too small, and gives up: the user keeps the default
  default <- read.table(file.path(folder, "default.txt"), header = TRUE, colClasses = "character", check.names = FALSE)
  say("AFTER", 0, words(as.list(default[1, ])))
}
say("BYE")
close(connection)
