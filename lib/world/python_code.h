/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose code a line of Python is, by the name of its file: a person's own, an installed package's,
 * Python's. A pure function of the file name: the same line is the same person's in every recording
 * and on every face.
 */
#ifndef INGERO_WORLD_PYTHON_CODE_H
#define INGERO_WORLD_PYTHON_CODE_H

#include "lib/base/bytes.h"

enum python_code_kind {
	PYTHON_OWN,   /* in a file of its own, in a cell of a notebook, in an editable install */
	PYTHON_ENTRY, /* -c, standard input, a script in a folder bin: own, unless it only enters a
			 package */
	PYTHON_PACKAGE,	  /* of an installed package */
	PYTHON_LIBRARY,	  /* of an installed package that computes for its caller, such as torch */
	PYTHON_RUNNER,	  /* of an installed package that runs other people's code: a server, a test
			     runner */
	PYTHON_STDLIB,	  /* Python's own library */
	PYTHON_STARTER,	  /* the part of it that starts programs and processes */
	PYTHON_GENERATED, /* written by a program: frozen modules, dataclasses, compiled graphs */
};

enum python_code_kind python_code_of(struct bytes file);
/* "vllm", borrowed from the file name; empty where there is none. */
struct bytes python_package_of(struct bytes file);

#endif
