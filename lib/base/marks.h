/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text for people that something other than a terminal is made of: a table, a bar, a curve stand in
 *it as control characters around their values, styles as the escape sequences of fmt_styled. Text
 *from outside holds no control characters once it went through fmt_safe, so it cannot pass for a
 *mark; who reads marks makes text of what is none, and nothing but numbers of what is between PLOT
 *and END.
 *
 *	TABLE cell CELL cell CELL ROW ... TABLE_END	the first row are headers, those of numbers
 *begin with '>' PLOT 'b' fraction ';' style END			a bar; fraction < 0: there
 *is none; style: enum fmt_style PLOT 'c' top ';' v ',' v ... END		a curve from 0 to
 *top NAME text NAME_END				what the rest of the line is
 */
#ifndef INGERO_BASE_MARKS_H
#define INGERO_BASE_MARKS_H

#define MARK_TABLE     '\x02'
#define MARK_TABLE_END '\x03'
#define MARK_NAME      '\x05'
#define MARK_NAME_END  '\x06'
#define MARK_PLOT      '\x10'
#define MARK_PLOT_END  '\x11'
#define MARK_ROW       '\x1e'
#define MARK_CELL      '\x1f'

/* Columns of a terminal for table_fold that is none: tables become marks. */
#define MARKS_COLUMNS 0xffffffffu

#endif
