/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON values, the streaming writer, and compression: texts read back as what was written, limits
 * hold, and damage is refused.
 */
#include <math.h>

#include "lib/base/cpu.h"
#include "lib/base/deflate.h"
#include "lib/base/json.h"
#include "lib/base/jsoncheck.h"
#include "lib/base/jsonr.h"
#include "lib/base/jsonw.h"
#include "tests/tap.h"

static void values(void)
{
	struct json o = json_object(), list = json_array(), got, key, value;
	struct buf b = { 0 };
	int at = 0, n = 0;

	json_append(&list, json_number(1));
	json_append(&list, json_text("two"));
	json_append(&list, json_null());
	json_append(&list, json_bool(true));
	json_set(&o, "list", list);
	json_set(&o, "x", json_number(0.5));
	json_set(&o, "nan", json_number(NAN));
	json_dump(&b, o, JSON_DUMP_SORTED);
	is_str(buf_text(&b), "{\"list\":[1,\"two\",null,true],\"nan\":null,\"x\":0.5}", "dump");
	is_int(json_type(o), JSON_TYPE_OBJECT, "type");
	is_u64(json_length(o), 3, "length");
	got = json_get(o, "list");
	is_u64(json_length(got), 4, "length of the list");
	value = json_at(got, 1);
	ok(bytes_equal(json_bytes(value), bytes_of("two")), "text of a string");
	json_free(value);
	value = json_at(got, 3);
	ok(json_is_true(value), "true");
	json_free(value);
	is_int(json_type(json_at(got, 4)), JSON_TYPE_NONE, "past the end is nothing");
	json_free(got);
	is_int(json_type(json_get(o, "missing")), JSON_TYPE_NONE, "a missing key is nothing");
	got = json_get(o, "x");
	is_near(json_double(got, 7), 0.5, 0, "a number");
	json_free(got);
	is_near(json_double(JSON_NONE, 7), 7, 0, "or its default");
	while (json_each(o, &at, &key, &value)) {
		n++;
		json_free(key);
		json_free(value);
	}
	is_int(n, 3, "each member once");
	json_free(o);
	buf_free(&b);
}

static void checking(void)
{
	static const struct {
		const char *text;
		int code;
	} cases[] = {
		{ "{}", 0 },
		{ " [ ] ", 0 },
		{ "null", 0 },
		{ "-0.5e+10", 0 },
		{ "{\"a\":[1,{\"b\":\"\\u00e9\\n\"},[]],\"c\":true}", 0 },
		{ "\"\xc3\xa9\"", 0 },
		{ "", ERR_DAMAGED },
		{ "nan", ERR_DAMAGED },
		{ "[1", ERR_DAMAGED },
		{ "[1,]", ERR_DAMAGED },
		{ "[\"a\" \"b\"", ERR_DAMAGED },
		{ "{\"a\"}", ERR_DAMAGED },
		{ "{\"a\":}", ERR_DAMAGED },
		{ "{\"a\":1,}", ERR_DAMAGED },
		{ "{1:2}", ERR_DAMAGED },
		{ "[}", ERR_DAMAGED },
		{ "01", ERR_DAMAGED },
		{ "1.", ERR_DAMAGED },
		{ "1e", ERR_DAMAGED },
		{ "-", ERR_DAMAGED },
		{ "tru", ERR_DAMAGED },
		{ "\"\\x\"", ERR_DAMAGED },
		{ "\"\\u12g4\"", ERR_DAMAGED },
		{ "\"\\u12", ERR_DAMAGED },
		{ "\"a\nb\"", ERR_DAMAGED },
		{ "\"\xff\"", ERR_DAMAGED },
		{ "\"open", ERR_DAMAGED },
		{ "1 2", ERR_DAMAGED },
		{ "[[[[[[[[1]]]]]]]]", 0 },
		{ "[[[[[[[[[1]]]]]]]]]", ERR_LIMIT },
	};
	struct buf digits = { 0 };
	struct err e;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		is_int(json_check(bytes_of(cases[i].text), 8, &e), cases[i].code, "%s",
		       cases[i].code ? "no JSON, or too deep" : "JSON");
	is_int(json_check((struct bytes){ 0 }, 8, &e), ERR_DAMAGED, "nothing, without an address");
	for (int i = 0; i < 401; i++)
		buf_putc(&digits, '1');
	is_int(json_check(buf_bytes(&digits), 8, &e), ERR_DAMAGED, "a number without end");
	buf_free(&digits);
	/* Ten arrays in one, numbers, texts and keys: 16, 1, 3 and 2 each. */
	is_int(json_check_size(bytes_of("[[],[],[],[],[],[],[],[],[],[]]"), 8, 176, NULL, &e), 0,
	       "so many arrays");
	is_int(json_check_size(bytes_of("[[],[],[],[],[],[],[],[],[],[]]"), 8, 175, NULL, &e),
	       ERR_LIMIT, "and no more");
	is_int(json_check_size(bytes_of("{\"a\":1,\"b\":\"c\"}"), 8, 24, NULL, &e), 0,
	       "so many members");
	is_int(json_check_size(bytes_of("{\"a\":1,\"b\":\"c\"}"), 8, 23, NULL, &e), ERR_LIMIT,
	       "and no more");
}

static void parsing(void)
{
	static const struct {
		const char *text;
		int code;
	} rows[] = {
		{ "{}", 0 },
		{ " [1, 2.5e3, \"\\u00e9\", {\"a\":null}] ", 0 },
		{ "7", 0 },
		{ "", ERR_DAMAGED },
		{ "{", ERR_DAMAGED },
		{ "{\"a\":}", ERR_DAMAGED },
		{ "[1,]", ERR_DAMAGED },
		{ "'a'", ERR_DAMAGED },
		{ "1 2", ERR_DAMAGED },
	};
	char deep[20001];
	struct json v;
	struct err e;
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		is_int(json_parse(bytes_of(rows[i].text), &v, &e), rows[i].code, "parse %s",
		       rows[i].text);
		if (!rows[i].code)
			json_free(v);
		else
			like(e.text, "not JSON: ", "and says why");
	}
	memset(deep, '[', 20000);
	deep[20000] = '\0';
	is_int(json_parse(bytes_of(deep), &v, &e), ERR_DAMAGED, "bottomless nesting is refused");
}

static void writing(void)
{
	struct buf b = { 0 }, again = { 0 };
	struct json v = JSON_NONE, x;
	struct jsonw w;
	struct err e;

	jsonw_init(&w, &b, false);
	jsonw_object_begin(&w);
	jsonw_key(&w, "a");
	jsonw_array_begin(&w);
	jsonw_u64(&w, UINT64_MAX);
	jsonw_i64(&w, INT64_MIN);
	jsonw_double(&w, 0.1);
	jsonw_double(&w, INFINITY);
	jsonw_array_begin(&w);
	jsonw_array_end(&w);
	jsonw_object_begin(&w);
	jsonw_object_end(&w);
	jsonw_array_end(&w);
	jsonw_key(&w, "b\"");
	jsonw_bytes(&w, (struct bytes){ "\n\t\x01\x7f\\ \xc3\xa9 \xff\xc3 \xed\xa0\x80|\0", 17 });
	jsonw_key(&w, "c");
	jsonw_hex(&w, 0xdeadbeef);
	jsonw_key(&w, "d");
	jsonw_id(&w, 9007199254740993u);
	jsonw_key(&w, "e");
	jsonw_str(&w, NULL);
	jsonw_key(&w, "f");
	jsonw_raw(&w, bytes_of("[true]"));
	jsonw_key(&w, "g");
	jsonw_bool(&w, false);
	jsonw_object_end(&w);
	is_str(buf_text(&b),
	       "{\"a\":[18446744073709551615,-9223372036854775808,0.1,null,[],{}],"
	       "\"b\\\"\":\"\\n\\t\\u0001\\u007f\\\\ \xc3\xa9 \xef\xbf\xbd\xef\xbf\xbd "
	       "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd|\\u0000\","
	       "\"c\":\"0xdeadbeef\",\"d\":\"9007199254740993\",\"e\":null,\"f\":[true],\"g\":"
	       "false}",
	       "compact");
	is_int(json_parse(buf_bytes(&b), &v, &e), 0, "the parser takes it");
	x = json_get(v, "d");
	ok(bytes_equal(json_bytes(x), bytes_of("9007199254740993")), "an id keeps its digits");
	json_free(x);
	json_free(v);
	buf_reset(&b);
	jsonw_init(&w, &b, true);
	jsonw_object_begin(&w);
	jsonw_key(&w, "a");
	jsonw_array_begin(&w);
	jsonw_u64(&w, 1);
	jsonw_u64(&w, 2);
	jsonw_array_end(&w);
	jsonw_key(&w, "b");
	jsonw_object_begin(&w);
	jsonw_object_end(&w);
	jsonw_object_end(&w);
	is_str(buf_text(&b), "{\n  \"a\": [\n    1,\n    2\n  ],\n  \"b\": {}\n}", "pretty");
	buf_free(&b);
	buf_free(&again);
}

/* Each way to take a CRC gives the one of its definition, bit by bit. */
static void checksums(void)
{
	unsigned char *bytes = malloc(700);
	uint32_t crc[700], random = 1;
	unsigned wrong = 0;

	for (unsigned i = 0; i < 700; i++)
		bytes[i] = (unsigned char)((random = random * 1664525 + 1013904223) >> 24);
	for (unsigned from = 0; from < 20; from++) {
		uint32_t reg = UINT32_MAX;

		for (unsigned i = from; i < 700; i++) {
			reg ^= bytes[i];
			for (int bit = 0; bit < 8; bit++)
				reg = reg >> 1 ^ (reg & 1 ? 0xedb88320 : 0);
			crc[i] = ~reg;
		}
		for (unsigned n = 1; n <= 700 - from; n++)
			for (int plain = 0; plain < 2; plain++) {
				uint32_t half;

				cpu_plain_only = plain;
				half = crc_bytes(0, bytes + from, n / 3);
				wrong += crc_bytes(0, bytes + from, n) != crc[from + n - 1];
				wrong += crc_bytes(half, bytes + from + n / 3, n - n / 3) !=
					 crc[from + n - 1];
			}
	}
	cpu_plain_only = false;
	is_u64(wrong, 0, "CRC-32 of 1 to 700 bytes, whole and in parts");
	free(bytes);
}

static void compression(void)
{
	struct buf in = { 0 }, packed = { 0 }, out = { 0 };
	struct err e;
	size_t i, cut, accepted = 0;

	for (i = 0; i < 100000; i++)
		buf_printf(&in, "%zu ", i * i % 1013);
	is_int(deflate_bytes(&packed, in.p, in.n, 1, &e), 0, "deflated");
	ok(packed.n < in.n / 3, "smaller");
	is_int(inflate_bytes(&out, packed.p, packed.n, in.n, &e), 0,
	       "inflated, limit just reached");
	ok(bytes_equal(buf_bytes(&in), buf_bytes(&out)), "the same bytes");
	buf_reset(&out);
	is_int(inflate_bytes(&out, packed.p, packed.n, in.n - 1, &e), ERR_LIMIT,
	       "one byte over the limit");
	buf_reset(&out);
	buf_putc(&packed, 'x');
	is_int(inflate_bytes(&out, packed.p, packed.n, in.n, &e), ERR_DAMAGED,
	       "bytes behind the end");
	for (cut = 0; cut < packed.n - 1; cut += packed.n / 97) {
		buf_reset(&out);
		accepted += inflate_bytes(&out, packed.p, cut, in.n, &e) != ERR_DAMAGED;
	}
	is_u64(accepted, 0, "cut short anywhere is damaged");
	buf_reset(&packed);
	buf_reset(&out);
	is_int(deflate_bytes(&packed, "", 0, 9, &e), 0, "nothing deflated");
	is_int(inflate_bytes(&out, packed.p, packed.n, 0, &e), 0, "and back");
	is_u64(out.n, 0, "is nothing");
	is_u64(crc_bytes(0, "123456789", 9), 0xcbf43926, "CRC-32 check value");
	is_u64(crc_bytes(crc_bytes(0, "1234", 4), "56789", 5), 0xcbf43926, "in two parts");
	is_u64(crc_bytes(7, NULL, 0), 7, "of nothing");
	checksums();
	buf_free(&in);
	buf_free(&packed);
	buf_free(&out);
}

/* A value of another kind or size is refused, and leaves what is there. */
static void refusing(void)
{
	static const char *const texts[] = {
		"1e999", "18446744073709551616", "-9223372036854775809", "1.5", "null", "\"1\"",
		"[]"
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct jsonr r;
		double x = 7;
		uint64_t u = 7;
		int64_t s = 7;
		bool b = true;
		bool whole = i == 1 || i == 2;

		jsonr_init(&r, bytes_of(texts[i]), NULL);
		ok(!jsonr_u64(&r, &u) && u == 7, "%s is no u64", texts[i]);
		ok(!jsonr_i64(&r, &s) && s == 7, "nor an i64");
		ok(!jsonr_bool(&r, &b) && b, "nor a bool");
		ok(jsonr_double(&r, &x) == (whole || i == 3) && (x == 7) == !(whole || i == 3),
		   "and a double where that holds it");
	}
}

int main(void)
{
	values();
	checking();
	parsing();
	writing();
	compression();
	refusing();
	return tap_done();
}
