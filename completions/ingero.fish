# SPDX-License-Identifier: Apache-2.0
#
# Fish completion of the ingero programs. Made by `make completions` from the programs' option
# tables: change those, not this file.

function __ingero_ops
    printf '%s\n' cpu cuda driver graph host io mark nccl net sched __cudaRegisterFunction block compact \
        cuCtxCreate cuCtxDestroy cuCtxPopCurrent cuCtxPushCurrent cuCtxSetCurrent cuCtxSynchronize \
        cuDeviceGetUuid cuDevicePrimaryCtxReset cuDevicePrimaryCtxRetain cuEventCreate \
        cuEventDestroy cuEventElapsedTime cuEventQuery cuEventRecord cuEventRecordWithFlags \
        cuEventSynchronize cuGraphClone cuGraphCreate cuGraphDestroy cuGraphExecDestroy \
        cuGraphExecUpdate cuGraphInstantiate cuGraphInstantiateWithFlags \
        cuGraphInstantiateWithParams cuGraphLaunch cuGraphUpload cuInit cuKernelGetFunction \
        cuLaunchCooperativeKernel cuLaunchHostFunc cuLaunchKernel cuLaunchKernelEx \
        cuLibraryGetKernel cuLibraryLoadData cuLibraryUnload cuMemAddressFree cuMemAddressReserve \
        cuMemAlloc cuMemAllocAsync cuMemAllocFromPoolAsync cuMemAllocHost cuMemAllocManaged \
        cuMemAllocPitch cuMemCreate cuMemFree cuMemFreeAsync cuMemFreeHost cuMemHostRegister \
        cuMemHostUnregister cuMemMap cuMemPrefetchAsync cuMemRelease cuMemSetAccess cuMemUnmap \
        cuMemcpy cuMemcpy2D cuMemcpy2DAsync cuMemcpy2DUnaligned cuMemcpy3D cuMemcpy3DAsync \
        cuMemcpy3DBatchAsync cuMemcpy3DPeer cuMemcpy3DPeerAsync cuMemcpyAsync cuMemcpyAtoA \
        cuMemcpyAtoD cuMemcpyAtoH cuMemcpyAtoHAsync cuMemcpyBatchAsync cuMemcpyDtoA cuMemcpyDtoD \
        cuMemcpyDtoDAsync cuMemcpyDtoH cuMemcpyDtoHAsync cuMemcpyHtoA cuMemcpyHtoAAsync \
        cuMemcpyHtoD cuMemcpyHtoDAsync cuMemcpyPeer cuMemcpyPeerAsync cuMemsetD16 cuMemsetD16Async \
        cuMemsetD2D16 cuMemsetD2D16Async cuMemsetD2D32 cuMemsetD2D32Async cuMemsetD2D8 \
        cuMemsetD2D8Async cuMemsetD32 cuMemsetD32Async cuMemsetD8 cuMemsetD8Async \
        cuModuleGetFunction cuModuleLoad cuModuleLoadData cuModuleLoadDataEx cuModuleLoadFatBinary \
        cuModuleUnload cuStreamAddCallback cuStreamBatchMemOp cuStreamBeginCapture \
        cuStreamBeginCaptureToGraph cuStreamCreate cuStreamCreateWithPriority cuStreamDestroy \
        cuStreamEndCapture cuStreamQuery cuStreamSynchronize cuStreamWaitEvent cuStreamWaitValue32 \
        cuStreamWaitValue64 cuStreamWriteValue32 cuStreamWriteValue64 cudaDeviceReset \
        cudaDeviceSynchronize cudaEventCreate cudaEventCreateWithFlags cudaEventDestroy \
        cudaEventElapsedTime cudaEventQuery cudaEventRecord cudaEventRecordWithFlags \
        cudaEventSynchronize cudaFree cudaFreeArray cudaFreeAsync cudaFreeHost cudaGraphClone \
        cudaGraphCreate cudaGraphDestroy cudaGraphExecDestroy cudaGraphExecUpdate \
        cudaGraphInstantiate cudaGraphInstantiateWithFlags cudaGraphInstantiateWithParams \
        cudaGraphLaunch cudaGraphUpload cudaHostRegister cudaHostUnregister \
        cudaLaunchCooperativeKernel cudaLaunchHostFunc cudaLaunchKernel cudaLaunchKernelExC \
        cudaMalloc cudaMalloc3D cudaMallocArray cudaMallocAsync cudaMallocFromPoolAsync \
        cudaMallocHost cudaMallocManaged cudaMallocPitch cudaMemAdvise cudaMemPrefetchAsync \
        cudaMemcpy cudaMemcpy2D cudaMemcpy2DArrayToArray cudaMemcpy2DAsync cudaMemcpy2DFromArray \
        cudaMemcpy2DFromArrayAsync cudaMemcpy2DToArray cudaMemcpy2DToArrayAsync cudaMemcpy3D \
        cudaMemcpy3DAsync cudaMemcpy3DBatchAsync cudaMemcpy3DPeer cudaMemcpy3DPeerAsync \
        cudaMemcpyAsync cudaMemcpyBatchAsync cudaMemcpyFromSymbol cudaMemcpyFromSymbolAsync \
        cudaMemcpyPeer cudaMemcpyPeerAsync cudaMemcpyToSymbol cudaMemcpyToSymbolAsync cudaMemset \
        cudaMemset2D cudaMemset2DAsync cudaMemset3D cudaMemset3DAsync cudaMemsetAsync \
        cudaSetDevice cudaSetDeviceFlags cudaStreamAddCallback cudaStreamBeginCapture \
        cudaStreamBeginCaptureToGraph cudaStreamCreate cudaStreamCreateWithFlags \
        cudaStreamCreateWithPriority cudaStreamDestroy cudaStreamEndCapture cudaStreamQuery \
        cudaStreamSynchronize cudaStreamWaitEvent exec exit fault file fork migrate ncclAllGather \
        ncclAllReduce ncclAlltoAll ncclBcast ncclBroadcast ncclCommAbort ncclCommDestroy \
        ncclCommFinalize ncclCommGetAsyncError ncclCommInitAll ncclCommInitRank \
        ncclCommInitRankConfig ncclCommInitRankScalable ncclCommSplit ncclGather ncclGroupEnd \
        ncclGroupStart ncclMemAlloc ncclMemFree ncclRecv ncclReduce ncclReduceScatter ncclScatter \
        ncclSend occupied offcpu oom outside point range reclaim retransmit sample socket stolen
end

# Completes a command of the front door as its program does.
function __ingero_behind
    set -l words (commandline -opc)
    set -l rest $words[3..]
    complete -C (string join ' ' -- $argv[1] (string escape -- $rest) (commandline -ct))
end

complete -c ingero -f
complete -c ingero -n 'not __fish_seen_subcommand_from trace record explain stat check demo merge correlate export query mcp dashboard help version' -a trace -d 'Record what runs, find what stalls it, show both live'
complete -c ingero -n 'not __fish_seen_subcommand_from trace record explain stat check demo merge correlate export query mcp dashboard help version' -a record -d 'Record CUDA calls and what the host did to them'
complete -c ingero -n 'not __fish_seen_subcommand_from trace record explain stat check demo merge correlate export query mcp dashboard help version' -a explain -d 'Say what took the time, who did it, and what to do about it'
complete -c ingero -n 'not __fish_seen_subcommand_from trace record explain stat check demo merge correlate export query mcp dashboard help version' -a stat -d 'How often, how long, how much, for each operation'
complete -c ingero -n 'not __fish_seen_subcommand_from trace record explain stat check demo merge correlate export query mcp dashboard help version' -a check -d 'Can this machine record? What is missing, and what to do'
complete -c ingero -n 'not __fish_seen_subcommand_from trace record explain stat check demo merge correlate export query mcp dashboard help version' -a demo -d 'Show what each kind of trouble looks like'
complete -c ingero -n 'not __fish_seen_subcommand_from trace record explain stat check demo merge correlate export query mcp dashboard help version' -a merge -d 'Recordings in, one out: joined, cut, repaired or made small'
complete -c ingero -n 'not __fish_seen_subcommand_from trace record explain stat check demo merge correlate export query mcp dashboard help version' -a correlate -d 'Find what took the time: the recording again, with its chains'
complete -c ingero -n 'not __fish_seen_subcommand_from trace record explain stat check demo merge correlate export query mcp dashboard help version' -a export -d 'Timelines, tables and metrics for other programs'
complete -c ingero -n 'not __fish_seen_subcommand_from trace record explain stat check demo merge correlate export query mcp dashboard help version' -a query -d 'Ask a recording in SQL'
complete -c ingero -n 'not __fish_seen_subcommand_from trace record explain stat check demo merge correlate export query mcp dashboard help version' -a mcp -d 'Answer an assistant\'s questions'
complete -c ingero -n 'not __fish_seen_subcommand_from trace record explain stat check demo merge correlate export query mcp dashboard help version' -a dashboard -d 'Show recordings in a browser'
complete -c ingero -n 'not __fish_seen_subcommand_from trace record explain stat check demo merge correlate export query mcp dashboard help version' -a help -d 'Help, or a command\'s manual page'
complete -c ingero -n 'not __fish_seen_subcommand_from trace record explain stat check demo merge correlate export query mcp dashboard help version' -a version -d 'The version'
complete -c ingero -n 'not __fish_seen_subcommand_from trace record explain stat check demo merge correlate export query mcp dashboard help version' -s q -l quiet -d 'Say only what went wrong'
complete -c ingero -n 'not __fish_seen_subcommand_from trace record explain stat check demo merge correlate export query mcp dashboard help version' -s v -l verbose -d 'Say more; twice for everything'
complete -c ingero -n 'not __fish_seen_subcommand_from trace record explain stat check demo merge correlate export query mcp dashboard help version' -l color -d 'Colour: auto, always or never (auto: on a terminal)' -x -a 'auto always never'
complete -c ingero -n 'not __fish_seen_subcommand_from trace record explain stat check demo merge correlate export query mcp dashboard help version' -l progress -d 'Show progress even when standard error is no terminal'
complete -c ingero -n 'not __fish_seen_subcommand_from trace record explain stat check demo merge correlate export query mcp dashboard help version' -s h -l help -d 'Print this help and exit'
complete -c ingero -n 'not __fish_seen_subcommand_from trace record explain stat check demo merge correlate export query mcp dashboard help version' -l version -d 'Print the version and exit'
complete -c ingero -n '__fish_seen_subcommand_from trace' -a '(__ingero_behind ingero-record)'
complete -c ingero -n '__fish_seen_subcommand_from trace' -l record
complete -c ingero -n '__fish_seen_subcommand_from trace' -l max-db
complete -c ingero -n '__fish_seen_subcommand_from trace' -l json
complete -c ingero -n '__fish_seen_subcommand_from trace' -l debug
complete -c ingero -n '__fish_seen_subcommand_from trace' -l stack
complete -c ingero -n '__fish_seen_subcommand_from trace' -l stack-samples
complete -c ingero -n '__fish_seen_subcommand_from trace' -l py-walker
complete -c ingero -n '__fish_seen_subcommand_from trace' -l record-all
complete -c ingero -n '__fish_seen_subcommand_from trace' -l prometheus
complete -c ingero -n '__fish_seen_subcommand_from trace' -l otlp
complete -c ingero -n '__fish_seen_subcommand_from trace' -l otlp-insecure
complete -c ingero -n '__fish_seen_subcommand_from trace' -l ringbuf-size
complete -c ingero -n '__fish_seen_subcommand_from trace' -l sampling-rate
complete -c ingero -n '__fish_seen_subcommand_from trace' -l no-io
complete -c ingero -n '__fish_seen_subcommand_from trace' -l no-net
complete -c ingero -n '__fish_seen_subcommand_from trace' -l no-tcp
complete -c ingero -n '__fish_seen_subcommand_from trace' -l log
complete -c ingero -n '__fish_seen_subcommand_from trace' -l cuda-lib
complete -c ingero -n '__fish_seen_subcommand_from trace' -l nccl
complete -c ingero -n '__fish_seen_subcommand_from trace' -l nccl-lib
complete -c ingero -n '__fish_seen_subcommand_from trace' -l remediate
complete -c ingero -n '__fish_seen_subcommand_from trace' -l throttle-poll-interval
complete -c ingero -n '__fish_seen_subcommand_from record' -a '(__ingero_behind ingero-record)'
complete -c ingero -n '__fish_seen_subcommand_from explain' -a '(__ingero_behind ingero-explain)'
complete -c ingero -n '__fish_seen_subcommand_from explain' -l from
complete -c ingero -n '__fish_seen_subcommand_from explain' -l to
complete -c ingero -n '__fish_seen_subcommand_from explain' -l annotations
complete -c ingero -n '__fish_seen_subcommand_from stat' -a '(__ingero_behind ingero-stat)'
complete -c ingero -n '__fish_seen_subcommand_from check' -a '(__ingero_behind ingero-check)'
complete -c ingero -n '__fish_seen_subcommand_from demo' -a '(__ingero_behind ingero-demo)'
complete -c ingero -n '__fish_seen_subcommand_from demo' -l speed
complete -c ingero -n '__fish_seen_subcommand_from demo' -l stack
complete -c ingero -n '__fish_seen_subcommand_from demo' -l no-gpu
complete -c ingero -n '__fish_seen_subcommand_from merge' -a '(__ingero_behind ingero-merge)'
complete -c ingero -n '__fish_seen_subcommand_from correlate' -a '(__ingero_behind ingero-correlate)'
complete -c ingero -n '__fish_seen_subcommand_from export' -a '(__ingero_behind ingero-export)'
complete -c ingero -n '__fish_seen_subcommand_from query' -a '(__ingero_behind ingero-query)'
complete -c ingero -n '__fish_seen_subcommand_from query' -l op
complete -c ingero -n '__fish_seen_subcommand_from mcp' -a '(__ingero_behind ingero-mcp)'
complete -c ingero -n '__fish_seen_subcommand_from dashboard' -a '(__ingero_behind ingero-dashboard)'

complete -c ingero-check -f
complete -c ingero-check -s p -l pid -d 'Look at the CUDA libraries of these processes only' -x -a '(__fish_complete_list , __fish_complete_pids)'
complete -c ingero-check -l library-path -d 'Look for CUDA libraries there too; may be given again' -x -a '(__fish_complete_directories)'
complete -c ingero-check -l btf -d 'What describes the kernel, where it does not itself' -r -F
complete -c ingero-check -l look-only -d 'Load no probe to see whether it works'
complete -c ingero-check -l json -d 'One JSON value (formats/check.schema.json)'
complete -c ingero-check -s q -l quiet -d 'Say only what went wrong'
complete -c ingero-check -s v -l verbose -d 'Say more; twice for everything'
complete -c ingero-check -l color -d 'Colour: auto, always or never (auto: on a terminal)' -x -a 'auto always never'
complete -c ingero-check -l progress -d 'Show progress even when standard error is no terminal'
complete -c ingero-check -s h -l help -d 'Print this help and exit'
complete -c ingero-check -l version -d 'Print the version and exit'

complete -c ingero-correlate -s o -l output -d 'Write there instead of standard output' -r -F
complete -c ingero-correlate -l chains-only -d 'Leave the events out: a small stream with the chains and what the recording is'
complete -c ingero-correlate -l json -d 'Chain and analysis records as JSON, one per line, instead of a stream'
complete -c ingero-correlate -l min-share -d 'Causes below this share of wall time are not told [1]' -x
complete -c ingero-correlate -l min-lost -d 'Nor are those that took less than this [10ms]' -x
complete -c ingero-correlate -s d -l db -d 'Without a FILE read the newest run there' -x -a '(__fish_complete_directories)'
complete -c ingero-correlate -s q -l quiet -d 'Say only what went wrong'
complete -c ingero-correlate -s v -l verbose -d 'Say more; twice for everything'
complete -c ingero-correlate -l color -d 'Colour: auto, always or never (auto: on a terminal)' -x -a 'auto always never'
complete -c ingero-correlate -l progress -d 'Show progress even when standard error is no terminal'
complete -c ingero-correlate -s h -l help -d 'Print this help and exit'
complete -c ingero-correlate -l version -d 'Print the version and exit'

complete -c ingero-dashboard -l addr -d 'Address and port; a port alone is of this machine only [127.0.0.1:8080]' -x
complete -c ingero-dashboard -l tls-cert -d 'Certificate (PEM), with --tls-key [one of its own, for 24 hours]' -r -F
complete -c ingero-dashboard -l tls-key -d 'Its private key (PEM)' -r -F
complete -c ingero-dashboard -l no-tls -d 'Plain HTTP'
complete -c ingero-dashboard -l allow-host -d 'Answer also who calls it by these names [localhost and its address]' -x
complete -c ingero-dashboard -l token-file -d 'Answer only who has the token in it [$INGERO_TOKEN, else one that is printed]' -r -F
complete -c ingero-dashboard -l no-token -d 'Answer everybody who reaches it, every user of this machine too'
complete -c ingero-dashboard -s d -l db -d 'Without a FILE read the newest run there' -x -a '(__fish_complete_directories)'
complete -c ingero-dashboard -s q -l quiet -d 'Say only what went wrong'
complete -c ingero-dashboard -s v -l verbose -d 'Say more; twice for everything'
complete -c ingero-dashboard -l color -d 'Colour: auto, always or never (auto: on a terminal)' -x -a 'auto always never'
complete -c ingero-dashboard -l progress -d 'Show progress even when standard error is no terminal'
complete -c ingero-dashboard -s h -l help -d 'Print this help and exit'
complete -c ingero-dashboard -l version -d 'Print the version and exit'

complete -c ingero-demo -f
complete -c ingero-demo -l seed -d 'Another recording of the same scenario [1]' -x
complete -c ingero-demo -l duration -d 'How long the recording lasts in event time [30s]' -x
complete -c ingero-demo -l threads -d 'Threads that make CUDA calls; the first is the victim [2, or what the scenario needs]' -x
complete -c ingero-demo -l dose -d 'Share of the time the culprit takes' -x
complete -c ingero-demo -s n -l node -d 'Made on the machine of that name' -x
complete -c ingero-demo -s o -l output -d 'Write the recording there instead of standard output' -r -F
complete -c ingero-demo -l archive -d 'Write it in the smallest form'
complete -c ingero-demo -l explain -d 'Correlate and explain it; without a SCENARIO the six of the tour'
complete -c ingero-demo -l gpu -d 'Explain a stall that really happens here: probes, a loop on the GPU, a hog'
complete -c ingero-demo -l list -d 'List the scenarios'
complete -c ingero-demo -l truth -d 'Print what is planted instead of the recording'
complete -c ingero-demo -l json -d 'The list, the truth or the reports as JSON'
complete -c ingero-demo -s q -l quiet -d 'Say only what went wrong'
complete -c ingero-demo -s v -l verbose -d 'Say more; twice for everything'
complete -c ingero-demo -l color -d 'Colour: auto, always or never (auto: on a terminal)' -x -a 'auto always never'
complete -c ingero-demo -l progress -d 'Show progress even when standard error is no terminal'
complete -c ingero-demo -s h -l help -d 'Print this help and exit'
complete -c ingero-demo -l version -d 'Print the version and exit'

complete -c ingero-explain -s p -l pid -d 'Only what happened to these processes' -x -a '(__fish_complete_list , __fish_complete_pids)'
complete -c ingero-explain -s e -l event -d 'Only causes that took from these calls: a name, a pattern, a source' -x -a '(__fish_complete_list , __ingero_ops)'
complete -c ingero-explain -s n -l node -d 'Only what happened on these machines' -x
complete -c ingero-explain -l since -d 'Only from then on: 5m before the end, 15:40, or an ISO time' -x
complete -c ingero-explain -l until -d 'Only up to then' -x
complete -c ingero-explain -l last -d 'Only the last part of the recording' -x
complete -c ingero-explain -l last-events -d 'Only from the oldest of the N newest events on' -x
complete -c ingero-explain -l top -d 'At most N causes, 0 for all [10]' -x
complete -c ingero-explain -l chains -d 'A table of the causes, a line each'
complete -c ingero-explain -l per-process -d 'Process by process: its causes, and what became of its time'
complete -c ingero-explain -l steps -d 'Steps of each program: how long, what the average one went to, and what made slow ones slow'
complete -c ingero-explain -l call -d 'One call, taken apart: by thread and end as in the JSON, or the longest of an op' -x
complete -c ingero-explain -l diff -d 'Two recordings: what changed from the first to the second'
complete -c ingero-explain -l json -d 'One JSON value instead of text (schema ingero.explain/1)'
complete -c ingero-explain -l fail-on -d 'Exit with status 1 when a cause of this severity or worse was found' -x -a 'low medium high'
complete -c ingero-explain -l nodes -d 'Ask the dashboards there instead' -x
complete -c ingero-explain -l token-file -d 'The token they want [$INGERO_TOKEN]' -r -F
complete -c ingero-explain -l ca-cert -d 'Ask over TLS, and trust these certificates (PEM)' -r -F
complete -c ingero-explain -l clock-skew-threshold -d 'Warn of clocks that are further apart [10ms]' -x
complete -c ingero-explain -l timeout -d 'Wait so long for each [60s]' -x
complete -c ingero-explain -l max-answers -d 'Memory for the answers of all nodes; the largest are left out [2G]' -x
complete -c ingero-explain -s d -l db -d 'Without a FILE read the newest run there' -x -a '(__fish_complete_directories)'
complete -c ingero-explain -s q -l quiet -d 'Say only what went wrong'
complete -c ingero-explain -s v -l verbose -d 'Say more; twice for everything'
complete -c ingero-explain -l color -d 'Colour: auto, always or never (auto: on a terminal)' -x -a 'auto always never'
complete -c ingero-explain -l progress -d 'Show progress even when standard error is no terminal'
complete -c ingero-explain -s h -l help -d 'Print this help and exit'
complete -c ingero-explain -l version -d 'Print the version and exit'

complete -c ingero-export -s f -l format -d 'What to write [by the ending of -o, else json]' -x -a 'json csv text perfetto chrome folded speedscope pprof prometheus otlp sqlite clickhouse html'
complete -c ingero-export -s o -l output -d 'Write there instead of standard output: whole or not at all' -r -F
complete -c ingero-export -l gzip -d 'Compress; -o FILE.gz does so by itself'
complete -c ingero-export -l weight -d 'Profiles: what a stack weighs [time]' -x -a 'time count lost bytes'
complete -c ingero-export -l max-db -d 'sqlite: leave out the oldest minutes beyond it' -x
complete -c ingero-export -l stacks -d 'text: the stack of each event below it'
complete -c ingero-export -l no-stacks -d 'Events without their stacks'
complete -c ingero-export -l records -d 'json: samples, losses and other records, too'
complete -c ingero-export -l push -d 'Send them to this OTLP/HTTP receiver (env: OTEL_EXPORTER_OTLP_ENDPOINT)' -x
complete -c ingero-export -l interval -d 'That often, in the recording\'s time [10s from a pipe, else once]' -x
complete -c ingero-export -l header -d 'With this header' -x
complete -c ingero-export -l listen -d 'Answer /metrics there, without HOST on this machine only' -x
complete -c ingero-export -s p -l pid -d 'Only events of these processes' -x -a '(__fish_complete_list , __fish_complete_pids)'
complete -c ingero-export -s e -l event -d 'Only these: a name, a pattern (cu*Alloc*), a source (cuda), both (driver:cu*)' -x -a '(__fish_complete_list , __ingero_ops)'
complete -c ingero-export -l since -d 'Only from then on: 5m before the end, 15:40, or an ISO time' -x
complete -c ingero-export -l until -d 'Only up to then' -x
complete -c ingero-export -l last -d 'Only the last part of the recording' -x
complete -c ingero-export -s n -l node -d 'Only events of these machines' -x
complete -c ingero-export -s w -l where -d 'Only events for which this jq expression of their JSON is true' -x
complete -c ingero-export -l arg -d '$NAME in the expression is this text' -x
complete -c ingero-export -l nodes -d 'Ask the dashboards there instead' -x
complete -c ingero-export -l token-file -d 'The token they want [$INGERO_TOKEN]' -r -F
complete -c ingero-export -l ca-cert -d 'Ask over TLS, and trust these certificates (PEM)' -r -F
complete -c ingero-export -l clock-skew-threshold -d 'Warn of clocks that are further apart [10ms]' -x
complete -c ingero-export -l timeout -d 'Leave out nodes that are silent for longer [60s]' -x
complete -c ingero-export -l max-node -d 'Leave out nodes whose recording is larger [4G]' -x
complete -c ingero-export -l max-nodes -d 'Of more in all leave out the largest [half the room]' -x
complete -c ingero-export -s d -l db -d 'Without a FILE read the newest run there' -x -a '(__fish_complete_directories)'
complete -c ingero-export -s q -l quiet -d 'Say only what went wrong'
complete -c ingero-export -s v -l verbose -d 'Say more; twice for everything'
complete -c ingero-export -l color -d 'Colour: auto, always or never (auto: on a terminal)' -x -a 'auto always never'
complete -c ingero-export -l progress -d 'Show progress even when standard error is no terminal'
complete -c ingero-export -s h -l help -d 'Print this help and exit'
complete -c ingero-export -l version -d 'Print the version and exit'

complete -c ingero-mcp -l http -d 'Answer there, at /mcp (":8080" is this machine only), not on standard input' -x
complete -c ingero-mcp -l tls-cert -d 'Certificate (PEM), with --tls-key [one of its own, for 24 hours]' -r -F
complete -c ingero-mcp -l tls-key -d 'Its private key (PEM)' -r -F
complete -c ingero-mcp -l no-tls -d 'Plain HTTP'
complete -c ingero-mcp -l allow-host -d 'Answer also who calls it by these names [localhost and its address]' -x
complete -c ingero-mcp -l token-file -d 'Answer only who has the token in it [$INGERO_TOKEN, else one that is printed]' -r -F
complete -c ingero-mcp -l no-token -d 'Answer everybody who reaches it, every user of this machine too'
complete -c ingero-mcp -l nodes -d 'Dashboards that query_fleet asks' -x
complete -c ingero-mcp -l nodes-token-file -d 'The token they want [none]' -r -F
complete -c ingero-mcp -l ca-cert -d 'Ask them over TLS, and trust these certificates (PEM)' -r -F
complete -c ingero-mcp -l clock-skew-threshold -d 'Warn of clocks that are further apart [10ms]' -x
complete -c ingero-mcp -l max-answers -d 'Memory for the answers of all nodes; the largest are left out [2G]' -x
complete -c ingero-mcp -s d -l db -d 'Without a FILE read the newest run there' -x -a '(__fish_complete_directories)'
complete -c ingero-mcp -s q -l quiet -d 'Say only what went wrong'
complete -c ingero-mcp -s v -l verbose -d 'Say more; twice for everything'
complete -c ingero-mcp -l color -d 'Colour: auto, always or never (auto: on a terminal)' -x -a 'auto always never'
complete -c ingero-mcp -l progress -d 'Show progress even when standard error is no terminal'
complete -c ingero-mcp -s h -l help -d 'Print this help and exit'
complete -c ingero-mcp -l version -d 'Print the version and exit'

complete -c ingero-merge -s o -l output -d 'Write there instead of standard output, an SQLite archive where it ends in .db; the file appears when it is whole' -r -F
complete -c ingero-merge -l compact -d 'In the smallest form, for keeping'
complete -c ingero-merge -l reindex -d 'One recording as it is, with a new index'
complete -c ingero-merge -l recover -d 'What is readable of damaged inputs becomes a sound recording that says what was lost'
complete -c ingero-merge -l split -d 'A file per machine: FILE with its name in front of the ending'
complete -c ingero-merge -l slice -d 'Only what the following options select, and what belongs to it'
complete -c ingero-merge -s p -l pid -d 'Only events of these processes' -x -a '(__fish_complete_list , __fish_complete_pids)'
complete -c ingero-merge -s e -l event -d 'Only these: a name, a pattern (cu*Alloc*), a source (cuda), both (driver:cu*)' -x -a '(__fish_complete_list , __ingero_ops)'
complete -c ingero-merge -l since -d 'Only from then on: 5m before the end, 15:40, or an ISO time' -x
complete -c ingero-merge -l until -d 'Only up to then' -x
complete -c ingero-merge -l last -d 'Only the last part of the recording' -x
complete -c ingero-merge -l force-node -d 'Name of the machine of what does not say where it was recorded' -x
complete -c ingero-merge -l clock-skew-threshold -d 'Warn of clocks that may be off by more than this [100ms]' -x
complete -c ingero-merge -l anonymize -d 'Pseudonyms for hosts, users, paths, pods, addresses and command lines'
complete -c ingero-merge -l anonymize-key -d 'The same pseudonyms whenever this secret is used; otherwise they are new each time' -r -F
complete -c ingero-merge -s d -l db -d 'Without a FILE read the newest run there' -x -a '(__fish_complete_directories)'
complete -c ingero-merge -s q -l quiet -d 'Say only what went wrong'
complete -c ingero-merge -s v -l verbose -d 'Say more; twice for everything'
complete -c ingero-merge -l color -d 'Colour: auto, always or never (auto: on a terminal)' -x -a 'auto always never'
complete -c ingero-merge -l progress -d 'Show progress even when standard error is no terminal'
complete -c ingero-merge -s h -l help -d 'Print this help and exit'
complete -c ingero-merge -l version -d 'Print the version and exit'

complete -c ingero-query -s p -l pid -d 'Only events of these processes' -x -a '(__fish_complete_list , __fish_complete_pids)'
complete -c ingero-query -s e -l event -d 'Only these: a name, a pattern (cu*Alloc*), a source (cuda), both (driver:cu*)' -x -a '(__fish_complete_list , __ingero_ops)'
complete -c ingero-query -l since -d 'Only from then on: 5m before the end, 15:40, or an ISO time' -x
complete -c ingero-query -l until -d 'Only up to then' -x
complete -c ingero-query -l last -d 'Only the last part of the recording' -x
complete -c ingero-query -s w -l where -d 'Only events for which this jq expression of their JSON is true' -x
complete -c ingero-query -l cache -d 'Keep the archive of run.ige as run.ige.db, and use it the next time'
complete -c ingero-query -l timeout -d 'End a question that takes longer; of each node [60s]' -x
complete -c ingero-query -l nodes -d 'Ask the dashboards there instead' -x
complete -c ingero-query -l token-file -d 'The token they want [$INGERO_TOKEN]' -r -F
complete -c ingero-query -l ca-cert -d 'Ask over TLS, and trust these certificates (PEM)' -r -F
complete -c ingero-query -l clock-skew-threshold -d 'Warn of clocks that are further apart [10ms]' -x
complete -c ingero-query -l max-answers -d 'Memory for the answers of all nodes; the largest are left out [2G]' -x
complete -c ingero-query -l limit -d 'Rows at most, 0 all [10000]' -x
complete -c ingero-query -l json -d 'Rows as JSON; without SQL the newest events'
complete -c ingero-query -l csv -d 'Rows as CSV'
complete -c ingero-query -l jq -d 'What this jq filter makes of the JSON of the rows' -x
complete -c ingero-query -l explain-schema -d 'Print the tables that can be asked, with what is in their columns'
complete -c ingero-query -s d -l db -d 'Without a FILE read the newest run there' -x -a '(__fish_complete_directories)'
complete -c ingero-query -s q -l quiet -d 'Say only what went wrong'
complete -c ingero-query -s v -l verbose -d 'Say more; twice for everything'
complete -c ingero-query -l color -d 'Colour: auto, always or never (auto: on a terminal)' -x -a 'auto always never'
complete -c ingero-query -l progress -d 'Show progress even when standard error is no terminal'
complete -c ingero-query -s h -l help -d 'Print this help and exit'
complete -c ingero-query -l version -d 'Print the version and exit'

complete -c ingero-record -x -a '(__fish_complete_subcommand)'
complete -c ingero-record -s p -l pid -d 'Record these processes and their children' -x -a '(__fish_complete_list , __fish_complete_pids)'
complete -c ingero-record -s u -l user -d 'Record the CUDA processes of this user' -x -a '(__fish_complete_users)'
complete -c ingero-record -s a -l all -d 'Record all CUDA processes, present and later'
complete -c ingero-record -l pod -d 'Record this Kubernetes pod, present and later' -x
complete -c ingero-record -s o -l output -d 'Write there; - is standard output; at most twice' -r -F
complete -c ingero-record -s d -l db -d 'Folder of recordings ($INGERO_DB, else ~/.ingero)' -x -a '(__fish_complete_directories)'
complete -c ingero-record -l flush -d 'Write this often (1s to a file, 100ms to a pipe)' -x
complete -c ingero-record -l rotate -d 'Go on in FILE-000002.ige when so large' -x
complete -c ingero-record -l rotate-every -d '... or covers so much time' -x
complete -c ingero-record -l keep -d 'Remove the oldest beyond N files' -x
complete -c ingero-record -l max-size -d 'Remove the oldest beyond this (default ring: 10g)' -x
complete -c ingero-record -l bundle -d 'Also pack FILE.igb with symbols, or a RECORDING'
complete -c ingero-record -l flight-recorder -d 'Keep the last TIME in memory until triggered' -x
complete -c ingero-record -l trigger -d 'Write it when a call was slow, hangs or failed' -x -a '(__fish_complete_list , __ingero_ops)'
complete -c ingero-record -l flight-memory -d 'Keep so much at most (256m)' -x
complete -c ingero-record -s n -l node -d 'Call this machine so (default: its host name)' -x
complete -c ingero-record -l duration -d 'Stop after this time' -x
complete -c ingero-record -s e -l event -d 'Only these: a name, cu*Alloc*, cuda, driver:cu*' -x -a '(__fish_complete_list , __ingero_ops)'
complete -c ingero-record -l exclude -d 'Not these' -x -a '(__fish_complete_list , __ingero_ops)'
complete -c ingero-record -l no-stacks -d 'Record no call stacks'
complete -c ingero-record -l no-sched -d 'No off-CPU intervals, block I/O, memory stalls'
complete -c ingero-record -l no-gpu -d 'Record no GPU health (NVML)'
complete -c ingero-record -l no-probes -d 'Samples of machine and GPUs alone; needs no rights'
complete -c ingero-record -l deadband -d 'Leave out system and GPU samples that moved less' -x
complete -c ingero-record -l heartbeat -d '... but not for longer than this' -x
complete -c ingero-record -l budget -d 'What probes may cost; more: windows (2%; none)' -x
complete -c ingero-record -l nested -d 'Events for calls inside calls, too'
complete -c ingero-record -l sample -d 'Record one of N calls of each op, count the rest' -x
complete -c ingero-record -s F -l cpu-samples -d 'Sample where CPU time goes so often (99; 0: never)' -x
complete -c ingero-record -l mark -d 'Take lines as events: step 12, loss 0.4, ...' -x
complete -c ingero-record -l hung -d 'Name a call once it has been open this long (5s)' -x
complete -c ingero-record -l ring -d 'Kernel buffer, a power of two (16m)' -x
complete -c ingero-record -l unwind-memory -d 'Tables for code without frame pointers (64m)' -x
complete -c ingero-record -l link -d 'How to attach: auto, session, multi or perf' -x -a 'auto session multi perf'
complete -c ingero-record -l walker -d 'How to walk stacks: auto, loop or helper' -x -a 'auto loop helper'
complete -c ingero-record -l btf -d 'The kernel\'s BTF, where /sys does not show it' -r -F
complete -c ingero-record -s q -l quiet -d 'Say only what went wrong'
complete -c ingero-record -s v -l verbose -d 'Say more; twice for everything'
complete -c ingero-record -l color -d 'Colour: auto, always or never (auto: on a terminal)' -x -a 'auto always never'
complete -c ingero-record -l progress -d 'Show progress even when standard error is no terminal'
complete -c ingero-record -s h -l help -d 'Print this help and exit'
complete -c ingero-record -l version -d 'Print the version and exit'

complete -c ingero-stat -s p -l pid -d 'Only events of these processes' -x -a '(__fish_complete_list , __fish_complete_pids)'
complete -c ingero-stat -s e -l event -d 'Only these: a name, a pattern (cu*Alloc*), a source (cuda), both (driver:cu*)' -x -a '(__fish_complete_list , __ingero_ops)'
complete -c ingero-stat -l since -d 'Only from then on: 5m before the end, 15:40, or an ISO time' -x
complete -c ingero-stat -l until -d 'Only up to then' -x
complete -c ingero-stat -l last -d 'Only the last part of the recording' -x
complete -c ingero-stat -l by -d 'One table by: op, pid, thread, stack, line (of code), kernel, size, direction, stream, device, cgroup, pod, container, node, rank, step (of a loop)' -x -a 'op pid thread stack line kernel size direction stream device cgroup pod container node rank step'
complete -c ingero-stat -l sections -d 'Only these: all, processes, system, time, runtime, driver, graphs, nccl, marks, host, kernels, io, net, gpu, memory, rates, latency, errors, causes' -x
complete -c ingero-stat -l plot -d 'Rates and latencies as plots of several lines'
complete -c ingero-stat -l compare -d 'Two recordings, before and after: what got slower (status 1 if anything did), by operation or --by'
complete -c ingero-stat -l threshold -d 'With --compare: by how much at least [10]' -x
complete -c ingero-stat -l top -d 'Rows of tables with --by and --compare, 0 all, also elsewhere [40]' -x
complete -c ingero-stat -l brief -d 'Only counts, errors and durations, of everything: many times faster'
complete -c ingero-stat -l exact -d 'Quantiles to the nanosecond instead of within 0.4 %'
complete -c ingero-stat -l memory -d 'With --exact: keep so much, then read a file again [64m]' -x
complete -c ingero-stat -l json -d 'One JSON value (formats/stat.schema.json)'
complete -c ingero-stat -l interval -d 'From a pipe: news that often, 0 none [1s on a terminal, else 10s]' -x
complete -c ingero-stat -s d -l db -d 'Without a FILE read the newest run there' -x -a '(__fish_complete_directories)'
complete -c ingero-stat -s q -l quiet -d 'Say only what went wrong'
complete -c ingero-stat -s v -l verbose -d 'Say more; twice for everything'
complete -c ingero-stat -l color -d 'Colour: auto, always or never (auto: on a terminal)' -x -a 'auto always never'
complete -c ingero-stat -l progress -d 'Show progress even when standard error is no terminal'
complete -c ingero-stat -s h -l help -d 'Print this help and exit'
complete -c ingero-stat -l version -d 'Print the version and exit'
