-- SPDX-License-Identifier: Apache-2.0
--
-- Tables for what `ingero-export -f clickhouse` writes, version 1. Run it once, in the database that recordings go to; running it again changes
-- nothing. All rows come in one stream and go into `feed`, which keeps nothing: a view for each table takes the rows that are for it.
--
--     clickhouse-client --database ingero --queries-file schema.sql
--     ingero-export -f clickhouse run.ige | clickhouse-client --database ingero -q 'INSERT INTO feed FORMAT JSONEachRow'
--
-- Columns: *_ns are nanoseconds, time_ns and until_ns since 1970 in UTC. A text that is not known is '', a number 0; rank and gpu are -1.
-- job is the scheduler's, else what the ranks of a run have in common, else the pod. A column may be added at the end; none changes.
--
-- Written for ClickHouse 23 and later. Older servers lack a few types and codecs: README.md says what to write instead.

CREATE TABLE IF NOT EXISTS feed (
	row LowCardinality(String), -- which table it is for
	node LowCardinality(String),
	job LowCardinality(String),
	rank Int32,
	pid UInt32,
	tid UInt32,
	process LowCardinality(String),
	thread LowCardinality(String),
	cgroup LowCardinality(String),
	gpu Int16,
	time_ns Int64,
	until_ns Int64,
	duration_ns UInt64,
	source LowCardinality(String),
	op LowCardinality(String),
	return_code Int32,
	error LowCardinality(String),
	bytes UInt64,
	direction LowCardinality(String),
	detail String,
	other String,
	wait_ns UInt64,
	comm_id String,
	sequence UInt64,
	function String,
	file String,
	line UInt32,
	metric LowCardinality(String),
	unit LowCardinality(String),
	value Float64,
	device UInt32,
	id String,
	revision UInt32,
	kind LowCardinality(String),
	severity LowCardinality(String),
	count UInt64,
	lost_ns UInt64,
	share Float64,
	culprit String,
	culprit_kind LowCardinality(String),
	site String,
	fix String,
	summary String,
	body String,
	reason LowCardinality(String),
	part LowCardinality(String),
	wall_ns UInt64,
	slow UInt64,
	p50_ns UInt64,
	p99_ns UInt64,
	max_ns UInt64
) ENGINE = Null;

-- Every call, wait and kernel event.
CREATE TABLE IF NOT EXISTS events (
	node LowCardinality(String),
	job LowCardinality(String),
	rank Int32,
	pid UInt32,
	tid UInt32,
	process LowCardinality(String),
	thread LowCardinality(String),
	cgroup LowCardinality(String),
	gpu Int16,
	time_ns Int64 CODEC(Delta, ZSTD), -- when it began
	duration_ns UInt64 CODEC(T64, ZSTD),
	source LowCardinality(String), -- formats/ops.def
	op LowCardinality(String),
	return_code Int32,
	error LowCardinality(String),
	bytes UInt64 CODEC(T64, ZSTD),
	direction LowCardinality(String),
	detail String, -- kernel, file, socket or mark that it had to do with
	other String, -- of 'occupied': who had the CPU; of 'offcpu': who woke the thread
	wait_ns UInt64 CODEC(T64, ZSTD), -- of 'offcpu': its end, in which the thread could have run
	comm_id String, -- of collectives: the communicator, the same on all ranks
	sequence UInt64, -- and which call on it
	function String,
	file String,
	line UInt32,
	time DateTime64(9, 'UTC') MATERIALIZED fromUnixTimestamp64Nano(time_ns)
) ENGINE = MergeTree
PARTITION BY toYYYYMM(toDateTime(intDiv(time_ns, 1000000000), 'UTC'))
ORDER BY (job, node, source, op, time_ns);

-- Values that were sampled: of a node, or of the process, cgroup, GPU or device that is named.
CREATE TABLE IF NOT EXISTS samples (
	node LowCardinality(String),
	job LowCardinality(String),
	rank Int32,
	pid UInt32,
	cgroup LowCardinality(String),
	gpu Int16,
	device UInt32,
	metric LowCardinality(String), -- formats/records.def
	unit LowCardinality(String),
	time_ns Int64 CODEC(Delta, ZSTD),
	value Float64 CODEC(Gorilla, ZSTD),
	time DateTime64(9, 'UTC') MATERIALIZED fromUnixTimestamp64Nano(time_ns)
) ENGINE = MergeTree
PARTITION BY toYYYYMM(toDateTime(intDiv(time_ns, 1000000000), 'UTC'))
ORDER BY (metric, node, gpu, cgroup, pid, device, time_ns);

-- What ingero-correlate found. The newest revision of an id holds: ask with FINAL.
CREATE TABLE IF NOT EXISTS causes (
	node LowCardinality(String),
	job LowCardinality(String),
	rank Int32,
	pid UInt32, -- whom it happened to
	process LowCardinality(String),
	time_ns Int64, -- from when
	until_ns Int64,
	id String,
	revision UInt32,
	kind LowCardinality(String), -- formats/problems.md
	severity LowCardinality(String),
	count UInt64,
	lost_ns UInt64,
	share Float64, -- of wall time
	op LowCardinality(String),
	culprit String,
	culprit_kind LowCardinality(String),
	site String, -- the line that lost most
	fix String, -- the command that is recommended first
	summary String,
	body String, -- formats/chain.schema.json
	time DateTime64(9, 'UTC') MATERIALIZED fromUnixTimestamp64Nano(time_ns)
) ENGINE = ReplacingMergeTree(revision)
PARTITION BY tuple()
ORDER BY (node, id);

-- Where the time of processes went, by the analysis: a row for each state (lib/event/part.h). Recordings that overlap are counted once each.
CREATE TABLE IF NOT EXISTS times (
	node LowCardinality(String),
	job LowCardinality(String),
	rank Int32,
	pid UInt32,
	process LowCardinality(String),
	time_ns Int64, -- of the recording's start
	part LowCardinality(String),
	duration_ns UInt64, -- of all its threads
	wall_ns UInt64 -- of the recording
) ENGINE = ReplacingMergeTree
PARTITION BY tuple()
ORDER BY (node, time_ns, pid, part);

-- Threads that run a loop, and the slowest of their steps.
CREATE TABLE IF NOT EXISTS loops (
	node LowCardinality(String),
	job LowCardinality(String),
	rank Int32,
	pid UInt32,
	tid UInt32,
	process LowCardinality(String),
	time_ns Int64,
	count UInt64,
	slow UInt64, -- of count: half as much again as the median, or more
	p50_ns UInt64,
	p99_ns UInt64,
	max_ns UInt64
) ENGINE = ReplacingMergeTree
PARTITION BY tuple()
ORDER BY (node, time_ns, tid);

CREATE TABLE IF NOT EXISTS steps (
	node LowCardinality(String),
	job LowCardinality(String),
	rank Int32,
	pid UInt32,
	tid UInt32,
	process LowCardinality(String),
	time_ns Int64, -- when it began
	sequence UInt64, -- its number
	duration_ns UInt64,
	p50_ns UInt64, -- of all steps of the loop
	part LowCardinality(String), -- what it lost more to than an average one, by class of causes; '': nothing
	lost_ns UInt64
) ENGINE = ReplacingMergeTree
PARTITION BY tuple()
ORDER BY (node, time_ns, tid);

-- Events that are missing, and why: what was summed up over such a time is a lower bound.
CREATE TABLE IF NOT EXISTS losses (
	node LowCardinality(String),
	time_ns Int64,
	until_ns Int64,
	count UInt64,
	reason LowCardinality(String)
) ENGINE = ReplacingMergeTree
PARTITION BY tuple()
ORDER BY (node, time_ns, until_ns, reason);

CREATE MATERIALIZED VIEW IF NOT EXISTS feed_events TO events AS
SELECT node, job, rank, pid, tid, process, thread, cgroup, gpu, time_ns, duration_ns, source, op, return_code, error, bytes, direction, detail,
	other, wait_ns, comm_id, sequence, function, file, line
FROM feed WHERE row = 'event';

CREATE MATERIALIZED VIEW IF NOT EXISTS feed_samples TO samples AS
SELECT node, job, rank, pid, cgroup, gpu, device, metric, unit, time_ns, value FROM feed WHERE row = 'sample';

CREATE MATERIALIZED VIEW IF NOT EXISTS feed_causes TO causes AS
SELECT node, job, rank, pid, process, time_ns, until_ns, id, revision, kind, severity, count, lost_ns, share, op, culprit, culprit_kind, site, fix,
	summary, body
FROM feed WHERE row = 'cause';

CREATE MATERIALIZED VIEW IF NOT EXISTS feed_times TO times AS
SELECT node, job, rank, pid, process, time_ns, part, duration_ns, wall_ns FROM feed WHERE row = 'time';

CREATE MATERIALIZED VIEW IF NOT EXISTS feed_loops TO loops AS
SELECT node, job, rank, pid, tid, process, time_ns, count, slow, p50_ns, p99_ns, max_ns FROM feed WHERE row = 'loop';

CREATE MATERIALIZED VIEW IF NOT EXISTS feed_steps TO steps AS
SELECT node, job, rank, pid, tid, process, time_ns, sequence, duration_ns, p50_ns, part, lost_ns FROM feed WHERE row = 'step';

CREATE MATERIALIZED VIEW IF NOT EXISTS feed_losses TO losses AS
SELECT node, time_ns, until_ns, count, reason FROM feed WHERE row = 'loss';

-- What stays when events are dropped after some days: calls of each operation in each minute, with quantiles that can be merged.
CREATE TABLE IF NOT EXISTS op_minutes (
	job LowCardinality(String),
	node LowCardinality(String),
	rank Int32,
	process LowCardinality(String),
	source LowCardinality(String),
	op LowCardinality(String),
	minute DateTime('UTC'),
	calls AggregateFunction(count),
	errors AggregateFunction(sum, UInt8),
	total_ns AggregateFunction(sum, UInt64),
	longest_ns AggregateFunction(max, UInt64),
	bytes AggregateFunction(sum, UInt64),
	quantiles_ns AggregateFunction(quantilesTDigest(0.5, 0.95, 0.99), UInt64)
) ENGINE = AggregatingMergeTree
PARTITION BY toYYYYMM(minute)
ORDER BY (job, node, rank, process, source, op, minute);

CREATE MATERIALIZED VIEW IF NOT EXISTS feed_op_minutes TO op_minutes AS
SELECT job, node, rank, process, source, op, toStartOfMinute(toDateTime(intDiv(time_ns, 1000000000), 'UTC')) AS minute,
	countState() AS calls,
	-- "not yet" is no error: cudaErrorNotReady, CUDA_ERROR_NOT_READY, ncclInProgress
	sumState(toUInt8(return_code != 0 AND return_code != if(source = 'nccl', 7, 600))) AS errors,
	sumState(duration_ns) AS total_ns, maxState(duration_ns) AS longest_ns, sumState(bytes) AS bytes,
	quantilesTDigestState(0.5, 0.95, 0.99)(duration_ns) AS quantiles_ns
FROM feed WHERE row = 'event' GROUP BY job, node, rank, process, source, op, minute;

-- Each collective across its ranks: who entered last, and how long after the first. Clocks have to agree for that: ingero-merge sees to it.
CREATE TABLE IF NOT EXISTS collectives (
	job LowCardinality(String),
	comm_id String,
	sequence UInt64,
	op LowCardinality(String),
	ranks AggregateFunction(count),
	last_rank AggregateFunction(argMax, Int32, Int64),
	last_node AggregateFunction(argMax, String, Int64),
	last_process AggregateFunction(argMax, String, Int64),
	first_ns AggregateFunction(min, Int64),
	last_ns AggregateFunction(max, Int64)
) ENGINE = AggregatingMergeTree
PARTITION BY tuple()
ORDER BY (job, comm_id, sequence, op);

CREATE MATERIALIZED VIEW IF NOT EXISTS feed_collectives TO collectives AS
SELECT job, comm_id, sequence, op, countState() AS ranks, argMaxState(rank, time_ns) AS last_rank, argMaxState(toString(node), time_ns) AS last_node,
	argMaxState(toString(process), time_ns) AS last_process, minState(time_ns) AS first_ns, maxState(time_ns) AS last_ns
FROM feed WHERE row = 'event' AND source = 'nccl' AND comm_id != '' AND op NOT LIKE 'ncclComm%' GROUP BY job, comm_id, sequence, op;

-- Who had the CPU while recorded threads waited for it, in each minute.
CREATE TABLE IF NOT EXISTS taken_minutes (
	node LowCardinality(String),
	taker String,
	minute DateTime('UTC'),
	times AggregateFunction(count),
	taken_ns AggregateFunction(sum, UInt64)
) ENGINE = AggregatingMergeTree
PARTITION BY toYYYYMM(minute)
ORDER BY (node, taker, minute);

CREATE MATERIALIZED VIEW IF NOT EXISTS feed_taken_minutes TO taken_minutes AS
SELECT node, other AS taker, toStartOfMinute(toDateTime(intDiv(time_ns, 1000000000), 'UTC')) AS minute, countState() AS times,
	sumState(duration_ns) AS taken_ns
FROM feed WHERE row = 'event' AND op = 'occupied' AND other != '' GROUP BY node, taker, minute;
