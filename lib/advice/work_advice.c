/* SPDX-License-Identifier: Apache-2.0 */
/* Says what to do about each kind of work; code of no known kind is moved beside the device's. */
#include "lib/advice/work_advice.h"

#include <stddef.h>

#define MEANWHILE                                                                              \
	"Do it while the device works: in worker processes or another thread, or between the " \
	"launches of a step and its wait"
#define PYTHON_CODE \
	"future = pool.submit(prepare, next_batch); step(batch); batch = future.result()"
#define NATIVE_CODE "launch(now, stream); prepare(next); cudaStreamSynchronize(stream);"

/* code NULL: by the program's language. */
static const struct work_advice advices[] = {
	[KNOWN_WORK_OTHER] = { MEANWHILE, NULL },
	[KNOWN_WORK_COLLECTS] = { "Leave out calls of gc.collect(); collect less often, and fewer "
				  "objects: freeze those that stay, keep fewer lists and dicts",
				  "gc.freeze(); gc.set_threshold(100000, 50, 1000)" },
	[KNOWN_WORK_IMPORTS] = { "Import it before the first step", "import NAME" },
	[KNOWN_WORK_COMPILES] = { "Compile before the first step, and not again: pad to a few "
				  "shapes, or mark those that change; TORCH_LOGS=recompiles says "
				  "why",
				  "torch.compile(model, dynamic=True)" },
	[KNOWN_WORK_PACKS] = { "Do it ahead, in another thread or process while the device works: "
			       "these libraries run beside Python; or once before, and keep what "
			       "comes out; or choose a faster format or level",
			       NULL },
	[KNOWN_WORK_LOADS] = { MEANWHILE, "DataLoader(..., num_workers=4, pin_memory=True, "
					  "prefetch_factor=4)" },
	[KNOWN_WORK_SPINS] = { "Look at what it waits for: by its name it does so without "
			       "sleeping, and takes a CPU from whoever works",
			       "flag.wait(old);  // or a condition variable, instead of a loop" },
	[KNOWN_WORK_COPIES] = { "Keep the copy, and write the new values into it: deepcopy() makes "
				"each object and each tensor anew",
				"torch._foreach_lerp_(kept, list(model.parameters()), 1 - decay)" },
	[KNOWN_WORK_JSON] = { "Do it for fewer steps, or in another process: it keeps the "
			      "interpreter's lock; or keep what was parsed; or take a faster library "
			      "or a binary format",
			      "orjson.dumps(rows)" },
	[KNOWN_WORK_LOGS] = { "Log every so many steps; leave out what no level asks for before its "
			      "text is made; hand the rest to a thread",
			      "if step % 100 == 0: log.info(...)  # or "
			      "logging.handlers.QueueHandler" },
	[KNOWN_WORK_SAVES] = { "Save less often, or from another thread or process, of tensors that "
			       "were copied to the host",
			       "torch.distributed.checkpoint.async_save(state, checkpoint_id=path)" },
	[KNOWN_WORK_READS] = { "Keep the values on the device and read them later, all together: "
			       "each read is a call of its own, and waits for the device",
			       "torch.stack(values).tolist()  # once, behind the loop over them" },
	[KNOWN_WORK_TRACES] = { "Turn it off when the fault is found: each operator keeps the "
				"stack that called it, as text",
				"torch.autograd.set_detect_anomaly(False)" },
	[KNOWN_WORK_MOVES] = { "Move one tensor that holds them all, and split it there: each move "
			       "is a copy of its own, and waits for the device",
			       "all = torch.stack(tensors).to(device); tensors = all.unbind()" },
	[KNOWN_WORK_FAULTS] = { "Keep the memory, and fill it again: what is new is cleared first",
				"numpy.add(a, b, out=kept); torch.add(a, b, out=kept)" },
};

struct work_advice work_advice_of(enum known_work work, bool python)
{
	struct work_advice advice = advices[work];

	if (!advice.code)
		advice.code = python ? PYTHON_CODE : NATIVE_CODE;
	return advice;
}
