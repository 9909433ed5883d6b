# SPDX-License-Identifier: Apache-2.0
#
# Fish completion of the ingero programs. Made by `make completions` from the programs' option
# tables: change those, not this file.

function __ingero_ops
    printf '%s\n' cuda driver graph host io nccl net sched block cuCtxSynchronize cuEventSynchronize \
        cuLaunchKernel cuLaunchKernelEx cuMemAlloc cuMemAllocAsync cuMemAllocHost \
        cuMemAllocManaged cuMemFree cuMemFreeAsync cuMemFreeHost cuMemcpy cuMemcpyAsync \
        cuMemcpyDtoD cuMemcpyDtoDAsync cuMemcpyDtoH cuMemcpyDtoHAsync cuMemcpyHtoD \
        cuMemcpyHtoDAsync cuMemsetD8 cuMemsetD8Async cuStreamSynchronize cudaDeviceSynchronize \
        cudaEventSynchronize cudaFree cudaFreeAsync cudaFreeHost cudaLaunchKernel cudaMalloc \
        cudaMallocAsync cudaMallocHost cudaMallocManaged cudaMemcpy cudaMemcpyAsync cudaMemset \
        cudaMemsetAsync cudaStreamSynchronize exec exit fork migrate occupied offcpu
end

complete -c ingero-demo -f
complete -c ingero-demo -l seed -d 'Another recording of the same scenario [1]' -x
complete -c ingero-demo -l duration -d 'How long the recording lasts in event time [30s]' -x
complete -c ingero-demo -l threads -d 'Threads that make CUDA calls; the first is the victim [2]' -x
complete -c ingero-demo -l dose -d 'Share of the time the culprit takes' -x
complete -c ingero-demo -s o -l output -d 'Write the recording there instead of standard output' -r -F
complete -c ingero-demo -l list -d 'List the scenarios'
complete -c ingero-demo -l truth -d 'Print what is planted instead of the recording'
complete -c ingero-demo -l json -d 'The list or the truth as JSON'
complete -c ingero-demo -s q -l quiet -d 'Say only what went wrong'
complete -c ingero-demo -s v -l verbose -d 'Say more; twice for everything'
complete -c ingero-demo -l color -d 'Colour: auto, always or never (auto: on a terminal)' -x -a 'auto always never'
complete -c ingero-demo -l progress -d 'Show progress even when standard error is no terminal'
complete -c ingero-demo -s h -l help -d 'Print this help and exit'
complete -c ingero-demo -l version -d 'Print the version and exit'
