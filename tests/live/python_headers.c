/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiled against the headers of a CPython: where its structs have what a walker reads, by the
 * compiler. With TABLE it is a file that begins like that CPython's runtime, by its own words (OWN:
 * how its headers fill their table of offsets).
 */
#define Py_BUILD_CORE 1
#include <Python.h>
#include <internal/pycore_code.h>
#include <internal/pycore_interp.h>
#include <internal/pycore_runtime.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#if PY_VERSION_HEX >= 0x030e0000
#include <internal/pycore_debug_offsets.h>
#include <internal/pycore_interpframe_structs.h>
#define OWN _Py_DebugOffsets_INIT("xdebugpy")
#else
#include <internal/pycore_frame.h>
#include <internal/pycore_runtime_init.h>
#endif

#ifdef TABLE
struct {
	_Py_DebugOffsets own;
	char rest[4096];
} table __attribute__((section(".PyRuntime"))) = { OWN };
#else

static unsigned first_bit(const PyASCIIObject *s)
{
	unsigned word;

	memcpy(&word, (const char *)s + offsetof(PyASCIIObject, state), sizeof(word));
	return (unsigned)__builtin_ctz(word);
}

int main(void)
{
	PyASCIIObject kind = { 0 }, compact = { 0 }, ascii = { 0 };

	kind.state.kind = 1;
	compact.state.compact = 1;
	ascii.state.ascii = 1;
#define SAY(name, value) printf(#name " %zu\n", (size_t)(value))
	SAY(runtime_interpreters, offsetof(_PyRuntimeState, interpreters.head));
	SAY(interpreter_next, offsetof(PyInterpreterState, next));
	SAY(interpreter_threads, offsetof(PyInterpreterState, threads.head));
	SAY(thread_next, offsetof(PyThreadState, next));
	SAY(thread_ident, offsetof(PyThreadState, thread_id));
	SAY(thread_native, offsetof(PyThreadState, native_thread_id));
	SAY(thread_frame, offsetof(PyThreadState, current_frame));
	SAY(frame_code, offsetof(_PyInterpreterFrame, f_executable));
	SAY(frame_back, offsetof(_PyInterpreterFrame, previous));
	SAY(frame_at, offsetof(_PyInterpreterFrame, instr_ptr));
	SAY(frame_entry, offsetof(_PyInterpreterFrame, owner));
	SAY(code_line, offsetof(PyCodeObject, co_firstlineno));
	SAY(code_file, offsetof(PyCodeObject, co_filename));
	SAY(code_name, offsetof(PyCodeObject, co_qualname));
	SAY(code_lines, offsetof(PyCodeObject, co_linetable));
	SAY(code_bytes, offsetof(PyCodeObject, co_code_adaptive));
	SAY(string_length, offsetof(PyASCIIObject, length));
	SAY(string_state, offsetof(PyASCIIObject, state));
	SAY(string_ascii, sizeof(PyASCIIObject));
	SAY(string_wide, sizeof(PyCompactUnicodeObject));
	SAY(string_shift, first_bit(&kind) - 2);
	SAY(bytes_length, offsetof(PyBytesObject, ob_base.ob_size));
	SAY(bytes_data, offsetof(PyBytesObject, ob_sval));
#if PY_VERSION_HEX >= 0x030f0000
	SAY(runtime_key, 0);
#else
	SAY(runtime_key, offsetof(_PyRuntimeState, autoTSSkey._key));
#endif
#if PY_VERSION_HEX >= 0x030e0000 && defined(Py_GIL_DISABLED)
	SAY(frame_copy, offsetof(_PyInterpreterFrame, tlbc_index));
	SAY(code_copies, offsetof(PyCodeObject, co_tlbc));
	SAY(copies_start, offsetof(_PyCodeArray, entries));
#else
	SAY(frame_copy, 0);
	SAY(code_copies, 0);
	SAY(copies_start, 8);
#endif
	/* What no table says, and the walker takes for granted. */
	SAY(compact_after_kind, first_bit(&compact) - first_bit(&kind));
	SAY(ascii_after_kind, first_bit(&ascii) - first_bit(&kind));
	SAY(number_before_first_thread,
	    offsetof(PyInterpreterState, threads.head) -
		    offsetof(PyInterpreterState, threads.next_unique_id));
	SAY(oldest_after_first_interpreter, offsetof(_PyRuntimeState, interpreters.main) -
						    offsetof(_PyRuntimeState, interpreters.head));
	SAY(number_after_first_interpreter, offsetof(_PyRuntimeState, interpreters.next_id) -
						    offsetof(_PyRuntimeState, interpreters.head));
	SAY(version_in_print,
	    offsetof(PyCodeObject, co_version) > offsetof(PyCodeObject, co_firstlineno) &&
		    offsetof(PyCodeObject, co_version) < offsetof(PyCodeObject, co_linetable));
	SAY(destructor, offsetof(PyTypeObject, tp_dealloc));
	return 0;
}
#endif
