-- SPDX-License-Identifier: Apache-2.0
--
-- What people ask of a fleet. Each stands for itself; add WHERE job = '…' or a time where the whole is too much.

-- straggler: the rank that enters collectives last, how often, and how long the others waited for it.
SELECT job, rank, node, process, count() AS collectives, round(sum(late_ns) / 1e6, 1) AS waited_ms, round(max(late_ns) / 1e6, 1) AS longest_ms
FROM (
	SELECT job, comm_id, sequence, op, argMaxMerge(last_rank) AS rank, argMaxMerge(last_node) AS node, argMaxMerge(last_process) AS process,
		maxMerge(last_ns) - minMerge(first_ns) AS late_ns, countMerge(ranks) AS entered
	FROM collectives GROUP BY job, comm_id, sequence, op
)
WHERE entered > 1 GROUP BY job, rank, node, process ORDER BY waited_ms DESC LIMIT 20;

-- slow steps: those that took longest beyond the median of their loop, and what they lost most to.
SELECT node, job, rank, process, sequence AS step, round(duration_ns / 1e6, 2) AS ms, round(duration_ns / p50_ns, 1) AS of_median, part AS lost_to,
	round(lost_ns / 1e6, 2) AS lost_ms
FROM steps FINAL WHERE p50_ns > 0 AND duration_ns > p50_ns ORDER BY duration_ns - p50_ns DESC LIMIT 20;

-- culprit hosts: the machines on which most time was lost to the host, and to what.
SELECT node, round(sum(duration_ns) / 1e6, 1) AS lost_ms, round(sum(duration_ns) / max(wall) * 100, 1) AS percent_of_wall,
	argMax(part, duration_ns) AS mostly
FROM (
	SELECT node, part, sum(duration_ns) AS duration_ns, max(wall_ns) AS wall FROM times FINAL
	WHERE part IN ('preempted', 'runqueue', 'wakeup', 'wait_unknown', 'throttled', 'stolen', 'disk', 'lock', 'fault')
	GROUP BY node, part
)
GROUP BY node ORDER BY lost_ms DESC LIMIT 20;

-- noisy neighbours: who had the CPU while recorded threads waited for it, on how many machines.
SELECT replaceRegexpOne(taker, ' \\(pid [0-9]+\\)$', '') AS command, uniqExact(node) AS nodes, round(sum(ns) / 1e6, 1) AS taken_ms, sum(n) AS times
FROM (SELECT node, taker, sumMerge(taken_ns) AS ns, countMerge(times) AS n FROM taken_minutes GROUP BY node, taker)
WHERE command NOT LIKE 'swapper/%' GROUP BY command ORDER BY taken_ms DESC LIMIT 20;

-- lost per job: what the causes that were found took from each job, with the worst of them and its fix.
SELECT job, process, count() AS causes, round(sum(lost_ns) / 1e6, 1) AS lost_ms, argMax(summary, lost_ns) AS worst, argMax(fix, lost_ns) AS command
FROM causes FINAL GROUP BY job, process ORDER BY lost_ms DESC LIMIT 20;

-- causes: everything found, most severe first.
SELECT severity, kind, node, culprit, round(lost_ns / 1e6, 1) AS lost_ms, site, fix
FROM causes FINAL ORDER BY severity = 'HIGH' DESC, severity = 'MEDIUM' DESC, lost_ns DESC LIMIT 50;

-- slow operations: quantiles over the fleet, merged and not averaged, with the machine whose p99 is worst.
SELECT source, op, sum(n) AS calls, argMax(node, p99) AS worst_node, round(max(p99) / 1e6, 3) AS worst_p99_ms, round(avg(p50) / 1e6, 3) AS typical_p50_ms
FROM (
	SELECT node, source, op, countMerge(calls) AS n, quantilesTDigestMerge(0.5, 0.95, 0.99)(quantiles_ns) AS q, q[1] AS p50, q[3] AS p99
	FROM op_minutes WHERE source IN ('cuda', 'driver', 'nccl') GROUP BY node, source, op
)
GROUP BY source, op ORDER BY worst_p99_ms DESC LIMIT 20;

-- coverage: whose figures are lower bounds.
SELECT node, sum(count) AS lost_events, groupUniqArray(reason) AS reasons FROM losses FINAL GROUP BY node ORDER BY lost_events DESC;
