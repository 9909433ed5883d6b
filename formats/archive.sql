-- SPDX-License-Identifier: Apache-2.0
--
-- The SQLite archive of a recording, version 1: what `ingero-export -f sqlite` writes and what `ingero-query` asks.
--
-- The first part has the tables of the Go agent's store (v0.9.2) with its names, numbers and units, so that SQL written
-- for one runs on the other. What it did not have comes after: columns at the end of its tables, and tables of their own,
-- from which the recording can be made again (`ingero-merge x.db`).
--
-- Times called timestamp, *_at, bucket, seen_at and window_* are UTC, nanoseconds since 1970; calls stand there with
-- their beginning, everything else with its end, as the Go agent has it. Columns that end in _ns are nanoseconds: points in time
-- are those of the recording's clock (schema_info: clock_offset_ns leads from it to UTC), and 64-bit handles above 2^63 are
-- negative. A column that was not recorded is NULL; where the Go agent had 0 or '', it is that.
--
-- `PRAGMA application_id` is 0x49474541 ("IGEA"); `PRAGMA user_version` stays 0, which is what that agent expects.

-- ---- tables of the Go agent --------------------------------------------------------------------------------------

CREATE TABLE events (
	id TEXT NOT NULL, -- "{node}:{number}", numbers from 1 in the order of ends
	timestamp INTEGER NOT NULL,
	pid INTEGER NOT NULL,
	tid INTEGER NOT NULL,
	source INTEGER NOT NULL, -- sources.id
	op INTEGER NOT NULL, -- ops.op_id
	duration INTEGER NOT NULL, -- ns
	gpu_id INTEGER DEFAULT 0,
	arg0 INTEGER DEFAULT 0, -- as of the Go agent: bytes, function or pointer; sectors of 512 bytes; descriptor
	arg1 INTEGER DEFAULT 0, -- direction of a copy, stream of a launch, sector; child of a fork
	ret_code INTEGER DEFAULT 0,
	stack_hash INTEGER DEFAULT 0, -- stack_traces.hash
	node TEXT DEFAULT '',
	rank INTEGER,
	local_rank INTEGER,
	world_size INTEGER,
	comm TEXT DEFAULT '',
	stack_ips TEXT DEFAULT '', -- always empty
	cgroup_id INTEGER DEFAULT 0,
	-- From here on ours.
	seq INTEGER PRIMARY KEY, -- from 1, in the order of the recording: by end
	start_ns INTEGER NOT NULL,
	end_ns INTEGER NOT NULL,
	depth INTEGER NOT NULL, -- calls that are open around it on its thread
	ctx INTEGER, -- contexts.id
	stack INTEGER, -- stacks.id
	-- One column per kind of argument; which of them an op has: formats/ops.def.
	"bytes" INTEGER,
	"direction" INTEGER,
	"stream" INTEGER,
	"ptr" INTEGER,
	"func" INTEGER,
	"grid" INTEGER,
	"block" INTEGER,
	"shared" INTEGER,
	"event" INTEGER,
	"wait_ns" INTEGER,
	"syscall" INTEGER,
	"object_kind" INTEGER,
	"object" INTEGER,
	"waker" INTEGER, -- threads.id
	"waker_kind" INTEGER,
	"cpu_out" INTEGER,
	"cpu_in" INTEGER,
	"throttled_ns" INTEGER,
	"cpu" INTEGER,
	"occupant" INTEGER, -- threads.id
	"stolen_ns" INTEGER,
	"device" INTEGER,
	"sector" INTEGER,
	"write" INTEGER,
	"queue_ns" INTEGER,
	"child" INTEGER, -- threads.id
	"status" INTEGER,
	"futex_op" INTEGER,
	"futex_val" INTEGER,
	"file" INTEGER,
	"socket" INTEGER,
	"fd" INTEGER,
	"pages" INTEGER,
	"page_order" INTEGER,
	"segments" INTEGER,
	"tcp_state" INTEGER,
	"address" INTEGER,
	"trigger" INTEGER, -- threads.id
	"ordinal" INTEGER,
	"from_ordinal" INTEGER,
	"context" INTEGER,
	"from_context" INTEGER,
	"graph" INTEGER,
	"from_graph" INTEGER,
	"exec" INTEGER,
	"flags" INTEGER,
	"mode" INTEGER,
	"from_event" INTEGER,
	"pool" INTEGER,
	"array" INTEGER,
	"width" INTEGER,
	"height" INTEGER,
	"count" INTEGER,
	"handle" INTEGER,
	"offset" INTEGER,
	"module" INTEGER,
	"kernel" INTEGER,
	"communicator" INTEGER,
	"from_comm" INTEGER,
	"comm_id" INTEGER,
	"dtype" INTEGER,
	"reduction" INTEGER,
	"peer" INTEGER,
	"comm_rank" INTEGER,
	"ranks" INTEGER,
	"sequence" INTEGER,
	"async_error" INTEGER,
	"name" INTEGER,
	"value" INTEGER,
	"text" INTEGER,
	"in_kernel" INTEGER,
	"uuid_head" INTEGER,
	"uuid_tail" INTEGER,
	"waking_ns" INTEGER,
	"releaser" INTEGER -- threads.id
);
CREATE INDEX idx_events_timestamp ON events(timestamp);
CREATE INDEX idx_events_pid ON events(pid);
CREATE INDEX idx_events_source_op_stack ON events(source, op, stack_hash);
CREATE INDEX idx_events_cgroup ON events(cgroup_id) WHERE cgroup_id != 0;

CREATE TABLE stack_traces (
	hash INTEGER PRIMARY KEY,
	ips TEXT NOT NULL, -- addresses, where no frame has a name
	frames TEXT DEFAULT '' -- [{"s": symbol, "f": file, "i": address, "pfn", "pf", "pl": Python function, file, line}]
);

CREATE TABLE causal_chains (
	id TEXT PRIMARY KEY,
	detected_at INTEGER NOT NULL,
	severity TEXT NOT NULL, -- HIGH, MEDIUM, LOW
	summary TEXT NOT NULL,
	root_cause TEXT NOT NULL,
	explanation TEXT NOT NULL,
	recommendations TEXT DEFAULT '', -- JSON array of texts
	cuda_op TEXT DEFAULT '',
	cuda_p99_us INTEGER DEFAULT 0,
	cuda_p50_us INTEGER DEFAULT 0,
	tail_ratio REAL DEFAULT 0,
	timeline TEXT DEFAULT '', -- JSON array of {layer, op, detail, dur_us}
	node TEXT DEFAULT '',
	-- From here on ours.
	kind TEXT, -- as in ingero-correlate(1); NULL: a verdict of the Go agent itself
	"match" TEXT, -- the same in other runs
	revision INTEGER,
	first_ns INTEGER,
	last_ns INTEGER,
	count INTEGER,
	lost_ns INTEGER,
	body TEXT -- chain.schema.json
);
CREATE INDEX idx_chains_detected_at ON causal_chains(detected_at);
CREATE INDEX idx_chains_severity ON causal_chains(severity);

CREATE TABLE system_snapshots (
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	timestamp INTEGER NOT NULL,
	cpu_pct REAL NOT NULL, -- 0 here and below also where it was not sampled; sample_records knows
	mem_pct REAL NOT NULL,
	mem_avail INTEGER NOT NULL, -- MiB
	swap_mb INTEGER NOT NULL,
	load_avg REAL NOT NULL,
	node TEXT DEFAULT ''
);
CREATE UNIQUE INDEX idx_snapshots_ts_uniq ON system_snapshots(timestamp, node);

CREATE TABLE sessions (
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	started_at INTEGER NOT NULL,
	stopped_at INTEGER DEFAULT 0,
	gpu_model TEXT DEFAULT '',
	gpu_driver TEXT DEFAULT '', -- not recorded
	cpu_model TEXT DEFAULT '', -- not recorded
	cpu_cores INTEGER DEFAULT 0,
	mem_total INTEGER DEFAULT 0, -- MiB
	kernel TEXT DEFAULT '',
	os_release TEXT DEFAULT '', -- not recorded
	cuda_ver TEXT DEFAULT '', -- not recorded
	python_ver TEXT DEFAULT '', -- not recorded
	ingero_ver TEXT DEFAULT '',
	pid_filter TEXT DEFAULT '',
	flags TEXT DEFAULT '',
	node TEXT DEFAULT '',
	rank INTEGER,
	local_rank INTEGER,
	world_size INTEGER
);
CREATE INDEX idx_sessions_started ON sessions(started_at);

CREATE TABLE process_names (
	pid INTEGER PRIMARY KEY,
	name TEXT NOT NULL,
	seen_at INTEGER DEFAULT 0
);

CREATE TABLE event_aggregates (
	bucket INTEGER NOT NULL, -- the minute that events.timestamp lies in
	source INTEGER NOT NULL,
	op INTEGER NOT NULL,
	pid INTEGER NOT NULL DEFAULT 0, -- 0: left out on purpose, of any process
	count INTEGER DEFAULT 0, -- that happened
	stored INTEGER DEFAULT 0, -- of them, rows in events; the sums are theirs
	sum_dur INTEGER DEFAULT 0,
	min_dur INTEGER DEFAULT 0,
	max_dur INTEGER DEFAULT 0,
	sum_arg0 INTEGER DEFAULT 0, -- of ops whose arg0 is a size
	PRIMARY KEY (bucket, source, op, pid)
);
CREATE INDEX idx_aggregates_bucket ON event_aggregates(bucket);

CREATE TABLE cgroup_metadata (
	cgroup_id INTEGER PRIMARY KEY,
	container_id TEXT DEFAULT '',
	cgroup_path TEXT DEFAULT '',
	pod_name TEXT DEFAULT '',
	namespace TEXT DEFAULT ''
);
CREATE INDEX idx_cgroup_metadata_container_id ON cgroup_metadata(container_id) WHERE container_id != '';

CREATE TABLE cgroup_schedstat ( -- always empty: events has what it would sum up
	cgroup_id INTEGER NOT NULL,
	p99_off_cpu INTEGER DEFAULT 0,
	total_off_cpu INTEGER DEFAULT 0,
	event_count INTEGER DEFAULT 0,
	window_start INTEGER DEFAULT 0,
	window_end INTEGER DEFAULT 0,
	PRIMARY KEY (cgroup_id, window_end)
);
CREATE INDEX idx_cgroup_schedstat_cgroup ON cgroup_schedstat(cgroup_id);

CREATE TABLE sources (
	id INTEGER PRIMARY KEY,
	name TEXT NOT NULL,
	description TEXT
);

CREATE TABLE ops (
	source_id INTEGER NOT NULL,
	op_id INTEGER NOT NULL,
	name TEXT NOT NULL, -- as of the Go agent
	description TEXT, -- source:name as everywhere else in ingero
	PRIMARY KEY (source_id, op_id)
);

CREATE TABLE schema_info (
	key TEXT PRIMARY KEY,
	value TEXT NOT NULL
);

-- ---- who and what exists -----------------------------------------------------------------------------------------

CREATE TABLE nodes (
	id INTEGER PRIMARY KEY,
	uuid TEXT NOT NULL, -- 32 hex digits
	boot INTEGER NOT NULL,
	name TEXT
);

CREATE TABLE processes (
	id INTEGER PRIMARY KEY,
	node INTEGER, -- nodes.id
	pid INTEGER NOT NULL,
	start_ns INTEGER NOT NULL, -- CLOCK_BOOTTIME at fork; 0 unknown
	parent INTEGER NOT NULL, -- pid
	inner_pid INTEGER NOT NULL, -- in its own pid namespace; 0: the same, or unknown
	uid INTEGER NOT NULL
);

CREATE TABLE images ( -- what a process executes
	id INTEGER PRIMARY KEY,
	process INTEGER, -- processes.id
	exec INTEGER NOT NULL, -- how many came before
	exe TEXT,
	command TEXT,
	comm TEXT
);

CREATE TABLE threads (
	id INTEGER PRIMARY KEY,
	process INTEGER, -- processes.id
	tid INTEGER NOT NULL,
	start_ns INTEGER NOT NULL,
	comm TEXT -- its first name; later ones are in name_records
);

CREATE TABLE cgroups (
	id INTEGER PRIMARY KEY,
	node INTEGER, -- nodes.id
	cgroup_id INTEGER NOT NULL, -- the kernel's
	path TEXT
);

CREATE TABLE gpus (
	id INTEGER PRIMARY KEY,
	node INTEGER, -- nodes.id
	uuid TEXT,
	name TEXT,
	number INTEGER NOT NULL
);

CREATE TABLE modules ( -- files with code
	id INTEGER PRIMARY KEY,
	path TEXT,
	build_id TEXT
);

CREATE TABLE frames (
	id INTEGER PRIMARY KEY,
	kind INTEGER NOT NULL, -- 1 native 2 kernel 3 Python 4 unknown 5 gap
	module INTEGER, -- modules.id
	offset INTEGER NOT NULL, -- in the file; address of kind 4, line of kind 3
	name TEXT, -- of kinds 3 and 5
	file TEXT, -- of kind 3
	symbol TEXT, -- what a native frame is called, where known
	symbol_file TEXT,
	symbol_line INTEGER,
	symbol_delta INTEGER -- bytes from the start of the function
);

CREATE TABLE stacks (
	id INTEGER PRIMARY KEY,
	hash INTEGER NOT NULL, -- stack_traces.hash: stacks that read the same share it
	frames TEXT NOT NULL, -- JSON array of frames.id, innermost first
	ended INTEGER -- how the walk of its native frames went: a mask, see the stack of formats/ige.md; 0: not known
);

CREATE TABLE contexts ( -- where and as whom an event happened
	id INTEGER PRIMARY KEY,
	node INTEGER, -- nodes.id
	image INTEGER, -- images.id
	thread INTEGER, -- threads.id
	cgroup INTEGER, -- cgroups.id
	gpu INTEGER -- gpus.id
);

CREATE TABLE columns ( -- of events, that the recording brought with it and this schema does not know
	id INTEGER PRIMARY KEY,
	name TEXT NOT NULL,
	role INTEGER NOT NULL,
	unit TEXT NOT NULL
);

CREATE TABLE op_definitions ( -- of ops that the recording brought with it: events.op is 256 + number
	source INTEGER NOT NULL,
	number INTEGER NOT NULL,
	source_name TEXT NOT NULL,
	name TEXT NOT NULL,
	track INTEGER NOT NULL,
	flags INTEGER NOT NULL,
	columns TEXT NOT NULL, -- JSON array of column numbers
	PRIMARY KEY (source, number)
);

CREATE TABLE event_values ( -- of columns that events does not have
	seq INTEGER NOT NULL, -- events.seq
	"column" INTEGER NOT NULL, -- number of the column
	value INTEGER NOT NULL,
	PRIMARY KEY (seq, "column")
) WITHOUT ROWID;

CREATE TABLE lost_events ( -- events known to be missing between the event after_seq and the next one here
	after_seq INTEGER PRIMARY KEY,
	count INTEGER NOT NULL
);

CREATE TABLE error_names (
	source INTEGER NOT NULL,
	ret_code INTEGER NOT NULL,
	name TEXT NOT NULL,
	PRIMARY KEY (source, ret_code)
);

CREATE TABLE metrics ( -- of sample_records
	id INTEGER PRIMARY KEY,
	name TEXT NOT NULL,
	unit TEXT NOT NULL,
	counter INTEGER NOT NULL -- 1: it only grows
);

-- ---- what is said about the recording, and about a subject at a time ----------------------------------------------
--
-- A table per record (formats/records.def). n: their order among all of them; after_seq: the event that they come after.

CREATE TABLE clock_records (
	n INTEGER PRIMARY KEY,
	after_seq INTEGER NOT NULL,
	"mono_ns" INTEGER,
	"boot_ns" INTEGER,
	"real_ns" INTEGER,
	"uncertainty_ns" INTEGER,
	"source" TEXT,
	"node" INTEGER -- nodes.id
);

CREATE TABLE node_records (
	n INTEGER PRIMARY KEY,
	after_seq INTEGER NOT NULL,
	"node" INTEGER, -- nodes.id
	"hostname" TEXT,
	"kernel" TEXT,
	"arch" TEXT,
	"cpus" INTEGER,
	"memory_bytes" INTEGER,
	"hypervisor" TEXT
);

CREATE TABLE session_records (
	n INTEGER PRIMARY KEY,
	after_seq INTEGER NOT NULL,
	"start_ns" INTEGER,
	"tool" TEXT,
	"command" TEXT,
	"target" TEXT,
	"off_cpu" INTEGER,
	"seed" INTEGER,
	"node" INTEGER, -- nodes.id
	"cpu_samples_hz" INTEGER,
	"pid" INTEGER,
	"pid_start_ns" INTEGER,
	"hung_ns" INTEGER
);

CREATE TABLE coverage_records (
	n INTEGER PRIMARY KEY,
	after_seq INTEGER NOT NULL,
	"time_ns" INTEGER,
	"process" INTEGER, -- processes.id
	"layer" TEXT,
	"path" TEXT,
	"build_id" TEXT,
	"requested" INTEGER,
	"attached" INTEGER,
	"failed" INTEGER,
	"reason" TEXT,
	"delivered" INTEGER,
	"link" TEXT,
	"site" TEXT,
	"gap_ns" INTEGER,
	"node" INTEGER, -- nodes.id
	"bytes" INTEGER,
	"build_ns" INTEGER,
	"searched" INTEGER
);

CREATE TABLE loss_records (
	n INTEGER PRIMARY KEY,
	after_seq INTEGER NOT NULL,
	"since_ns" INTEGER,
	"until_ns" INTEGER,
	"source" INTEGER,
	"reason" INTEGER,
	"count" INTEGER,
	"cpu" INTEGER,
	"node" INTEGER -- nodes.id
);

CREATE TABLE open_records (
	n INTEGER PRIMARY KEY,
	after_seq INTEGER NOT NULL,
	"time_ns" INTEGER,
	"thread" INTEGER, -- threads.id
	"op" INTEGER,
	"start_ns" INTEGER,
	"depth" INTEGER,
	"stack" INTEGER, -- stacks.id
	"at_end" INTEGER
);

CREATE TABLE sample_records (
	n INTEGER PRIMARY KEY,
	after_seq INTEGER NOT NULL,
	"time_ns" INTEGER,
	"metric" INTEGER,
	"value" REAL,
	"process" INTEGER, -- processes.id
	"cgroup" INTEGER, -- cgroups.id
	"gpu" INTEGER, -- gpus.id
	"cpu" INTEGER,
	"node" INTEGER, -- nodes.id
	"device" INTEGER
);

CREATE TABLE name_records (
	n INTEGER PRIMARY KEY,
	after_seq INTEGER NOT NULL,
	"time_ns" INTEGER,
	"thread" INTEGER, -- threads.id
	"comm" TEXT
);

CREATE TABLE chain_records (
	n INTEGER PRIMARY KEY,
	after_seq INTEGER NOT NULL,
	"time_ns" INTEGER,
	"id" TEXT,
	"match" TEXT,
	"revision" INTEGER,
	"kind" TEXT,
	"severity" INTEGER,
	"first_ns" INTEGER,
	"last_ns" INTEGER,
	"count" INTEGER,
	"lost_ns" INTEGER,
	"summary" TEXT,
	"body" TEXT
);

CREATE TABLE analysis_records (
	n INTEGER PRIMARY KEY,
	after_seq INTEGER NOT NULL,
	"time_ns" INTEGER,
	"tool" TEXT,
	"chains" INTEGER,
	"body" TEXT
);

CREATE TABLE truth_records (
	n INTEGER PRIMARY KEY,
	after_seq INTEGER NOT NULL,
	"time_ns" INTEGER,
	"kind" TEXT,
	"culprit" TEXT,
	"culprit_pid" INTEGER,
	"victim_pid" INTEGER,
	"lost_ns" INTEGER,
	"count" INTEGER,
	"node" INTEGER -- nodes.id
);

CREATE TABLE place_records (
	n INTEGER PRIMARY KEY,
	after_seq INTEGER NOT NULL,
	"time_ns" INTEGER,
	"process" INTEGER, -- processes.id
	"runtime" TEXT,
	"container" TEXT,
	"container_name" TEXT,
	"pod" TEXT,
	"namespace" TEXT,
	"pod_uid" TEXT,
	"scheduler" TEXT,
	"job" TEXT,
	"step" TEXT,
	"launcher" TEXT,
	"run" TEXT,
	"devices" TEXT,
	"rank" INTEGER,
	"local_rank" INTEGER,
	"world_size" INTEGER,
	"gpus" TEXT
);

CREATE TABLE kernel_records (
	n INTEGER PRIMARY KEY,
	after_seq INTEGER NOT NULL,
	"time_ns" INTEGER,
	"process" INTEGER, -- processes.id
	"func" INTEGER,
	"name" TEXT
);

CREATE TABLE file_records (
	n INTEGER PRIMARY KEY,
	after_seq INTEGER NOT NULL,
	"time_ns" INTEGER,
	"id" INTEGER,
	"path" TEXT,
	"fstype" TEXT,
	"mount" TEXT,
	"origin" TEXT,
	"device" INTEGER
);

CREATE TABLE socket_records (
	n INTEGER PRIMARY KEY,
	after_seq INTEGER NOT NULL,
	"time_ns" INTEGER,
	"id" INTEGER,
	"protocol" TEXT,
	"local" TEXT,
	"remote" TEXT,
	"role" TEXT,
	"inode" INTEGER
);

CREATE TABLE peer_records (
	n INTEGER PRIMARY KEY,
	after_seq INTEGER NOT NULL,
	"time_ns" INTEGER,
	"socket" INTEGER,
	"pid" INTEGER,
	"comm" TEXT
);

CREATE TABLE asleep_records (
	n INTEGER PRIMARY KEY,
	after_seq INTEGER NOT NULL,
	"time_ns" INTEGER,
	"thread" INTEGER, -- threads.id
	"since_ns" INTEGER,
	"depth" INTEGER,
	"stack" INTEGER, -- stacks.id
	"cpu_out" INTEGER,
	"syscall" INTEGER,
	"object_kind" INTEGER,
	"object" INTEGER,
	"futex_op" INTEGER,
	"futex_val" INTEGER,
	"file" INTEGER,
	"socket" INTEGER,
	"write" INTEGER
);

CREATE TABLE ready_records (
	n INTEGER PRIMARY KEY,
	after_seq INTEGER NOT NULL,
	"time_ns" INTEGER,
	"thread" INTEGER, -- threads.id
	"fd" INTEGER,
	"kind" TEXT,
	"socket" INTEGER,
	"more" INTEGER
);

CREATE TABLE pipe_records (
	n INTEGER PRIMARY KEY,
	after_seq INTEGER NOT NULL,
	"time_ns" INTEGER,
	"process" INTEGER, -- processes.id
	"fd" INTEGER,
	"inode" INTEGER,
	"write" INTEGER,
	"holders" INTEGER,
	"pid" INTEGER,
	"comm" TEXT
);

CREATE TABLE owner_records (
	n INTEGER PRIMARY KEY,
	after_seq INTEGER NOT NULL,
	"time_ns" INTEGER,
	"thread" INTEGER, -- threads.id
	"since_ns" INTEGER,
	"object" INTEGER,
	"lock" TEXT,
	"tid" INTEGER,
	"owner" INTEGER, -- threads.id
	"pid" INTEGER,
	"comm" TEXT,
	"shared" INTEGER
);

CREATE TABLE priority_records (
	n INTEGER PRIMARY KEY,
	after_seq INTEGER NOT NULL,
	"time_ns" INTEGER,
	"thread" INTEGER, -- threads.id
	"nice" INTEGER,
	"policy" INTEGER,
	"autogroup" INTEGER,
	"autogroup_nice" INTEGER,
	"cgroup" INTEGER
);

CREATE TABLE thinned_records (
	n INTEGER PRIMARY KEY,
	after_seq INTEGER NOT NULL,
	"since_ns" INTEGER,
	"until_ns" INTEGER,
	"said" INTEGER,
	"left_out" INTEGER,
	"deadband" REAL,
	"heartbeat_ns" INTEGER,
	"node" INTEGER -- nodes.id
);

CREATE TABLE word_records (
	n INTEGER PRIMARY KEY,
	after_seq INTEGER NOT NULL,
	"time_ns" INTEGER,
	"id" INTEGER,
	"text" TEXT
);

CREATE TABLE cost_records (
	n INTEGER PRIMARY KEY,
	after_seq INTEGER NOT NULL,
	"since_ns" INTEGER,
	"until_ns" INTEGER,
	"calls" INTEGER,
	"left_out" INTEGER,
	"call_ns" REAL,
	"calls_ns" INTEGER,
	"host_ns" INTEGER,
	"recorder_cpu_ns" INTEGER,
	"recorder_rss" INTEGER,
	"measured_ns" INTEGER,
	"node" INTEGER, -- nodes.id
	"stops" INTEGER,
	"stopped_ns" INTEGER
);

CREATE TABLE sampled_records (
	n INTEGER PRIMARY KEY,
	after_seq INTEGER NOT NULL,
	"since_ns" INTEGER,
	"until_ns" INTEGER,
	"op" INTEGER,
	"every" INTEGER,
	"left_out" INTEGER,
	"reason" TEXT,
	"node" INTEGER -- nodes.id
);

CREATE TABLE allowed_records (
	n INTEGER PRIMARY KEY,
	after_seq INTEGER NOT NULL,
	"time_ns" INTEGER,
	"process" INTEGER, -- processes.id
	"thread" INTEGER, -- threads.id
	"cpus" TEXT
);

CREATE TABLE uncovered_records (
	n INTEGER PRIMARY KEY,
	after_seq INTEGER NOT NULL,
	"since_ns" INTEGER,
	"until_ns" INTEGER,
	"process" INTEGER, -- processes.id
	"layer" TEXT,
	"path" TEXT,
	"reason" TEXT,
	"from_start" INTEGER,
	"node" INTEGER -- nodes.id
);

CREATE TABLE paused_records (
	n INTEGER PRIMARY KEY,
	after_seq INTEGER NOT NULL,
	"since_ns" INTEGER,
	"until_ns" INTEGER,
	"tier" INTEGER,
	"reason" TEXT,
	"node" INTEGER -- nodes.id
);

CREATE TABLE folded_records (
	n INTEGER PRIMARY KEY,
	after_seq INTEGER NOT NULL,
	"since_ns" INTEGER,
	"until_ns" INTEGER,
	"op" INTEGER,
	"calls" INTEGER,
	"node" INTEGER -- nodes.id
);

-- ---- views -------------------------------------------------------------------------------------------------------

CREATE VIEW named_events AS
	SELECT e.seq, e.timestamp, e.node, e.pid, e.tid, e.comm, lower(s.name) AS source_name, o.name AS op_name,
		e.duration, e.ret_code, n.name AS error_name, e.rank, e.depth, e.stack_hash
	FROM events e
	LEFT JOIN sources s ON s.id = e.source
	LEFT JOIN ops o ON o.source_id = e.source AND o.op_id = e.op
	LEFT JOIN error_names n ON n.source = e.source AND n.ret_code = e.ret_code AND e.ret_code <> 0;
