# SPDX-License-Identifier: Apache-2.0
#
# Bash completion of the ingero programs. Made by `make completions` from the programs' option
# tables: change those, not this file.

_ingero_ops='cpu cuda driver graph host io mark nccl net sched __cudaRegisterFunction block compact
 cuCtxCreate cuCtxDestroy cuCtxPopCurrent cuCtxPushCurrent cuCtxSetCurrent cuCtxSynchronize
 cuDeviceGetUuid cuDevicePrimaryCtxReset cuDevicePrimaryCtxRetain cuEventCreate
 cuEventDestroy cuEventElapsedTime cuEventQuery cuEventRecord cuEventRecordWithFlags
 cuEventSynchronize cuGraphClone cuGraphCreate cuGraphDestroy cuGraphExecDestroy
 cuGraphExecUpdate cuGraphInstantiate cuGraphInstantiateWithFlags
 cuGraphInstantiateWithParams cuGraphLaunch cuGraphUpload cuInit cuKernelGetFunction
 cuLaunchCooperativeKernel cuLaunchHostFunc cuLaunchKernel cuLaunchKernelEx
 cuLibraryGetKernel cuLibraryLoadData cuLibraryUnload cuMemAddressFree cuMemAddressReserve
 cuMemAlloc cuMemAllocAsync cuMemAllocFromPoolAsync cuMemAllocHost cuMemAllocManaged
 cuMemAllocPitch cuMemCreate cuMemFree cuMemFreeAsync cuMemFreeHost cuMemHostRegister
 cuMemHostUnregister cuMemMap cuMemPrefetchAsync cuMemRelease cuMemSetAccess cuMemUnmap
 cuMemcpy cuMemcpy2D cuMemcpy2DAsync cuMemcpy2DUnaligned cuMemcpy3D cuMemcpy3DAsync
 cuMemcpy3DBatchAsync cuMemcpy3DPeer cuMemcpy3DPeerAsync cuMemcpyAsync cuMemcpyAtoA
 cuMemcpyAtoD cuMemcpyAtoH cuMemcpyAtoHAsync cuMemcpyBatchAsync cuMemcpyDtoA cuMemcpyDtoD
 cuMemcpyDtoDAsync cuMemcpyDtoH cuMemcpyDtoHAsync cuMemcpyHtoA cuMemcpyHtoAAsync
 cuMemcpyHtoD cuMemcpyHtoDAsync cuMemcpyPeer cuMemcpyPeerAsync cuMemsetD16 cuMemsetD16Async
 cuMemsetD2D16 cuMemsetD2D16Async cuMemsetD2D32 cuMemsetD2D32Async cuMemsetD2D8
 cuMemsetD2D8Async cuMemsetD32 cuMemsetD32Async cuMemsetD8 cuMemsetD8Async
 cuModuleGetFunction cuModuleLoad cuModuleLoadData cuModuleLoadDataEx cuModuleLoadFatBinary
 cuModuleUnload cuStreamAddCallback cuStreamBatchMemOp cuStreamBeginCapture
 cuStreamBeginCaptureToGraph cuStreamCreate cuStreamCreateWithPriority cuStreamDestroy
 cuStreamEndCapture cuStreamQuery cuStreamSynchronize cuStreamWaitEvent cuStreamWaitValue32
 cuStreamWaitValue64 cuStreamWriteValue32 cuStreamWriteValue64 cudaDeviceReset
 cudaDeviceSynchronize cudaEventCreate cudaEventCreateWithFlags cudaEventDestroy
 cudaEventElapsedTime cudaEventQuery cudaEventRecord cudaEventRecordWithFlags
 cudaEventSynchronize cudaFree cudaFreeArray cudaFreeAsync cudaFreeHost cudaGraphClone
 cudaGraphCreate cudaGraphDestroy cudaGraphExecDestroy cudaGraphExecUpdate
 cudaGraphInstantiate cudaGraphInstantiateWithFlags cudaGraphInstantiateWithParams
 cudaGraphLaunch cudaGraphUpload cudaHostRegister cudaHostUnregister
 cudaLaunchCooperativeKernel cudaLaunchHostFunc cudaLaunchKernel cudaLaunchKernelExC
 cudaMalloc cudaMalloc3D cudaMallocArray cudaMallocAsync cudaMallocFromPoolAsync
 cudaMallocHost cudaMallocManaged cudaMallocPitch cudaMemAdvise cudaMemPrefetchAsync
 cudaMemcpy cudaMemcpy2D cudaMemcpy2DArrayToArray cudaMemcpy2DAsync cudaMemcpy2DFromArray
 cudaMemcpy2DFromArrayAsync cudaMemcpy2DToArray cudaMemcpy2DToArrayAsync cudaMemcpy3D
 cudaMemcpy3DAsync cudaMemcpy3DBatchAsync cudaMemcpy3DPeer cudaMemcpy3DPeerAsync
 cudaMemcpyAsync cudaMemcpyBatchAsync cudaMemcpyFromSymbol cudaMemcpyFromSymbolAsync
 cudaMemcpyPeer cudaMemcpyPeerAsync cudaMemcpyToSymbol cudaMemcpyToSymbolAsync cudaMemset
 cudaMemset2D cudaMemset2DAsync cudaMemset3D cudaMemset3DAsync cudaMemsetAsync
 cudaSetDevice cudaSetDeviceFlags cudaStreamAddCallback cudaStreamBeginCapture
 cudaStreamBeginCaptureToGraph cudaStreamCreate cudaStreamCreateWithFlags
 cudaStreamCreateWithPriority cudaStreamDestroy cudaStreamEndCapture cudaStreamQuery
 cudaStreamSynchronize cudaStreamWaitEvent exec exit fault file fork migrate ncclAllGather
 ncclAllReduce ncclAlltoAll ncclBcast ncclBroadcast ncclCommAbort ncclCommDestroy
 ncclCommFinalize ncclCommGetAsyncError ncclCommInitAll ncclCommInitRank
 ncclCommInitRankConfig ncclCommInitRankScalable ncclCommSplit ncclGather ncclGroupEnd
 ncclGroupStart ncclMemAlloc ncclMemFree ncclRecv ncclReduce ncclReduceScatter ncclScatter
 ncclSend occupied offcpu oom outside point range reclaim retransmit sample socket stolen'

# The last item of a comma-separated list is completed, the ones before it are kept.
_ingero_list() {
	local before=
	[[ $cur == *,* ]] && before=${cur%,*},
	COMPREPLY=($(compgen -W "$1" -P "$before" -- "${cur##*,}"))
	[[ $2 == nospace ]] && compopt -o nospace
}

# _ingero_value KIND [CHOICES]: candidates for an option's value
_ingero_value() {
	case $1 in
	choice) COMPREPLY=($(compgen -W "$2" -- "$cur")) ;;
	FILE) compopt -o filenames; COMPREPLY=($(compgen -f -- "$cur")) ;;
	DIR) compopt -o filenames; COMPREPLY=($(compgen -d -- "$cur")) ;;
	USER) COMPREPLY=($(compgen -u -- "$cur")) ;;
	COMMAND) COMPREPLY=($(compgen -c -- "$cur")) ;;
	PID) _ingero_list "$(cd /proc && echo [0-9]*)" nospace ;;
	OP) _ingero_list "$_ingero_ops" nospace ;;
	*) COMPREPLY=() ;;
	esac
}

# _ingero_complete OPTIONS VALUES OPERANDS: VALUES has a line "WORD|WORD KIND [CHOICES]" per option with a value
_ingero_complete() {
	local cur prev words cword word line i
	COMPREPLY=()
	cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}
	# Readline breaks words at "=": put --option=value together again.
	if [[ $cur == '=' ]]; then
		cur=
	elif [[ $prev == '=' ]]; then
		prev=${COMP_WORDS[COMP_CWORD-2]}
	fi
	for ((i = 1; i < COMP_CWORD; i++)); do
		if [[ ${COMP_WORDS[i]} == -- ]]; then
			if [[ $3 == COMMAND && $i == $((COMP_CWORD - 1)) ]]; then
				_ingero_value COMMAND
			else
				_ingero_value FILE
			fi
			return
		fi
	done
	while read -r line; do
		[[ $line ]] || continue
		if [[ "|${line%% *}|" == *"|$prev|"* ]]; then
			line=${line#* }
			_ingero_value "${line%% *}" "${line#* }"
			return
		fi
	done <<<"$2"
	if [[ $cur == -* ]]; then
		COMPREPLY=($(compgen -W "$1" -- "$cur"))
	elif [[ $3 ]]; then
		_ingero_value "$3"
	fi
}

# _ingero_behind INDEX FUNCTION OLD: completes a command of the front door as its program does
_ingero_behind() {
	local old=$3
	COMP_WORDS=("${COMP_WORDS[@]:$1}")
	COMP_CWORD=$((COMP_CWORD - $1))
	"$2"
	if [[ ${COMP_WORDS[COMP_CWORD]} == -* ]]; then
		COMPREPLY+=($(compgen -W "$old" -- "${COMP_WORDS[COMP_CWORD]}"))
	fi
}

_ingero() {
	local i
	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		trace) _ingero_behind $i _ingero_record '--record --max-db --json --debug --stack --stack-samples --py-walker --record-all --prometheus --otlp --otlp-insecure --ringbuf-size --sampling-rate --no-io --no-net --no-tcp --log --cuda-lib --nccl --nccl-lib --remediate --throttle-poll-interval'; return ;;
		record) _ingero_behind $i _ingero_record ''; return ;;
		explain) _ingero_behind $i _ingero_explain '--from --to --annotations'; return ;;
		stat) _ingero_behind $i _ingero_stat ''; return ;;
		check) _ingero_behind $i _ingero_check ''; return ;;
		demo) _ingero_behind $i _ingero_demo '--speed --stack --no-gpu'; return ;;
		merge) _ingero_behind $i _ingero_merge ''; return ;;
		correlate) _ingero_behind $i _ingero_correlate ''; return ;;
		export) _ingero_behind $i _ingero_export ''; return ;;
		query) _ingero_behind $i _ingero_query '--op'; return ;;
		mcp) _ingero_behind $i _ingero_mcp ''; return ;;
		dashboard) _ingero_behind $i _ingero_dashboard ''; return ;;
		help) COMPREPLY=($(compgen -W 'trace record explain stat check demo merge correlate export query mcp dashboard' -- "${COMP_WORDS[COMP_CWORD]}")); return ;;
		-* | = | auto | always | never) ;;
		*) COMPREPLY=(); return ;;
		esac
	done
	_ingero_complete '-q --quiet -v --verbose --color --progress -h --help --version' \
		'--color choice auto always never' ''
	[[ ${COMP_WORDS[COMP_CWORD]} == -* || ${COMPREPLY[*]} ]] ||
		COMPREPLY=($(compgen -W 'trace record explain stat check demo merge correlate export query mcp dashboard help version' -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -F _ingero ingero

_ingero_check() {
	_ingero_complete '-p --pid --library-path --btf --look-only --json -q --quiet -v --verbose --color
		--progress -h --help --version' \
		'-p|--pid PID
		--library-path DIR
		--btf FILE
		--color choice auto always never' \
		''
}
complete -F _ingero_check ingero-check

_ingero_correlate() {
	_ingero_complete '-o --output --chains-only --json --min-share --min-lost -d --db -q --quiet -v --verbose
		--color --progress -h --help --version' \
		'-o|--output FILE
		--min-share PERCENT
		--min-lost TIME
		-d|--db DIR
		--color choice auto always never' \
		'FILE'
}
complete -F _ingero_correlate ingero-correlate

_ingero_dashboard() {
	_ingero_complete '--addr --tls-cert --tls-key --no-tls --allow-host --token-file --no-token -d --db -q
		--quiet -v --verbose --color --progress -h --help --version' \
		'--addr ADDRESS
		--tls-cert FILE
		--tls-key FILE
		--allow-host HOST
		--token-file FILE
		-d|--db DIR
		--color choice auto always never' \
		'FILE'
}
complete -F _ingero_dashboard ingero-dashboard

_ingero_demo() {
	_ingero_complete '--seed --duration --threads --dose -n --node -o --output --archive --explain --gpu --list
		--truth --json -q --quiet -v --verbose --color --progress -h --help --version' \
		'--seed N
		--duration TIME
		--threads N
		--dose PERCENT
		-n|--node NAME
		-o|--output FILE
		--color choice auto always never' \
		''
}
complete -F _ingero_demo ingero-demo

_ingero_explain() {
	_ingero_complete '-p --pid -e --event -n --node --since --until --last --last-events --top --chains
		--per-process --steps --call --diff --json --fail-on --nodes --token-file --ca-cert
		--clock-skew-threshold --timeout --max-answers -d --db -q --quiet -v --verbose --color
		--progress -h --help --version' \
		'-p|--pid PID
		-e|--event OP
		-n|--node NODE
		--since TIME
		--until TIME
		--last TIME
		--last-events N
		--top N
		--call TID
		--fail-on choice low medium high
		--nodes HOST
		--token-file FILE
		--ca-cert FILE
		--clock-skew-threshold TIME
		--timeout TIME
		--max-answers SIZE
		-d|--db DIR
		--color choice auto always never' \
		'FILE'
}
complete -F _ingero_explain ingero-explain

_ingero_export() {
	_ingero_complete '-f --format -o --output --gzip --weight --max-db --stacks --no-stacks --records --push
		--interval --header --listen -p --pid -e --event --since --until --last -n --node -w
		--where --arg --nodes --token-file --ca-cert --clock-skew-threshold --timeout --max-node
		--max-nodes -d --db -q --quiet -v --verbose --color --progress -h --help --version' \
		'-f|--format choice json csv text perfetto chrome folded speedscope pprof prometheus otlp sqlite clickhouse html
		-o|--output FILE
		--weight choice time count lost bytes
		--max-db SIZE
		--push URL
		--interval TIME
		--header NAME
		--listen VALUE
		-p|--pid PID
		-e|--event OP
		--since TIME
		--until TIME
		--last TIME
		-n|--node NODE
		-w|--where EXPR
		--arg NAME
		--nodes HOST
		--token-file FILE
		--ca-cert FILE
		--clock-skew-threshold TIME
		--timeout TIME
		--max-node SIZE
		--max-nodes SIZE
		-d|--db DIR
		--color choice auto always never' \
		'FILE'
}
complete -F _ingero_export ingero-export

_ingero_mcp() {
	_ingero_complete '--http --tls-cert --tls-key --no-tls --allow-host --token-file --no-token --nodes
		--nodes-token-file --ca-cert --clock-skew-threshold --max-answers -d --db -q --quiet -v
		--verbose --color --progress -h --help --version' \
		'--http ADDRESS
		--tls-cert FILE
		--tls-key FILE
		--allow-host HOST
		--token-file FILE
		--nodes HOST
		--nodes-token-file FILE
		--ca-cert FILE
		--clock-skew-threshold TIME
		--max-answers SIZE
		-d|--db DIR
		--color choice auto always never' \
		'FILE'
}
complete -F _ingero_mcp ingero-mcp

_ingero_merge() {
	_ingero_complete '-o --output --compact --reindex --recover --split --slice -p --pid -e --event --since
		--until --last --force-node --clock-skew-threshold --anonymize --anonymize-key -d --db -q
		--quiet -v --verbose --color --progress -h --help --version' \
		'-o|--output FILE
		-p|--pid PID
		-e|--event OP
		--since TIME
		--until TIME
		--last TIME
		--force-node NAME
		--clock-skew-threshold TIME
		--anonymize-key FILE
		-d|--db DIR
		--color choice auto always never' \
		'FILE'
}
complete -F _ingero_merge ingero-merge

_ingero_query() {
	_ingero_complete '-p --pid -e --event --since --until --last -w --where --cache --timeout --nodes
		--token-file --ca-cert --clock-skew-threshold --max-answers --limit --json --csv --jq
		--explain-schema -d --db -q --quiet -v --verbose --color --progress -h --help --version' \
		'-p|--pid PID
		-e|--event OP
		--since TIME
		--until TIME
		--last TIME
		-w|--where EXPR
		--timeout TIME
		--nodes HOST
		--token-file FILE
		--ca-cert FILE
		--clock-skew-threshold TIME
		--max-answers SIZE
		--limit N
		--jq FILTER
		-d|--db DIR
		--color choice auto always never' \
		'FILE'
}
complete -F _ingero_query ingero-query

_ingero_record() {
	_ingero_complete '-p --pid -u --user -a --all --pod -o --output -d --db --flush --rotate --rotate-every
		--keep --max-size --bundle --flight-recorder --trigger --flight-memory -n --node
		--duration -e --event --exclude --no-stacks --no-sched --no-gpu --no-probes --deadband
		--heartbeat --budget --nested --sample -F --cpu-samples --mark --hung --ring
		--unwind-memory --link --walker --btf -q --quiet -v --verbose --color --progress -h --help
		--version' \
		'-p|--pid PID
		-u|--user USER
		--pod NAMESPACE
		-o|--output FILE
		-d|--db DIR
		--flush TIME
		--rotate SIZE
		--rotate-every TIME
		--keep N
		--max-size SIZE
		--flight-recorder TIME
		--trigger OP
		--flight-memory SIZE
		-n|--node NAME
		--duration TIME
		-e|--event OP
		--exclude OP
		--deadband PERCENT
		--heartbeat TIME
		--budget PERCENT
		--sample N
		-F|--cpu-samples HZ
		--mark FIFO
		--hung TIME
		--ring SIZE
		--unwind-memory SIZE
		--link choice auto session multi perf
		--walker choice auto loop helper
		--btf FILE
		--color choice auto always never' \
		'COMMAND'
}
complete -F _ingero_record ingero-record

_ingero_stat() {
	_ingero_complete '-p --pid -e --event --since --until --last --by --sections --plot --compare --threshold
		--top --brief --exact --memory --json --interval -d --db -q --quiet -v --verbose --color
		--progress -h --help --version' \
		'-p|--pid PID
		-e|--event OP
		--since TIME
		--until TIME
		--last TIME
		--by choice op pid thread stack line kernel size direction stream device cgroup pod container node rank step
		--sections NAME
		--threshold PERCENT
		--top N
		--memory SIZE
		--interval TIME
		-d|--db DIR
		--color choice auto always never' \
		'FILE'
}
complete -F _ingero_stat ingero-stat
