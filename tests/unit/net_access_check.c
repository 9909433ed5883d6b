/* SPDX-License-Identifier: Apache-2.0 */
/* Who is let in, row by row. */
#include "lib/net/access_check.h"

#include "tests/tap.h"

static const char *const hosts[] = {
	"gpu-7.example", "::5", "[2001:db8::0:9]", "gpu-8.example.:8080", "10.9.9.9",
	"[fe80::7]:443", NULL
};
static const char *const open_paths[] = { "/", NULL };
static const struct net_access_check guard = { .token = "s3cret-token",
					       .open = open_paths,
					       .hosts = hosts };

static const struct {
	const char *host, *here;
	bool in;
} names[] = {
	{ "localhost", "127.0.0.1", true },
	{ "LOCALHOST:8080", "127.0.0.1", true },
	{ "localhost.", "127.0.0.1", true },
	{ "127.0.0.1:8080", "127.0.0.1", true },
	{ "127.8.9.1", "127.0.0.1", true },
	{ "[::1]:8080", "::1", true },
	{ "[::1]", "::1", true },
	{ "[0:0:0:0:0:0:0:1]", "::1", true },
	{ "gpu-7.example", "10.0.0.7", true },
	{ "GPU-7.example:443", "10.0.0.7", true },
	{ "10.0.0.7:8080", "10.0.0.7", true },
	{ "10.0.0.7", "::ffff:10.0.0.7", true },
	{ "[fe80::1]:8080", "fe80::1%eth0", true },
	{ "[fe80::1]", "fe80::1%2", true },
	{ "[fe80::1%25eth0]:8080", "fe80::1%eth0", true },
	{ "[FE80:0::1%eth0]", "fe80::1%eth0", true },
	{ "[::ffff:10.0.0.7]:8080", "10.0.0.7", true },
	{ "[::5]:8080", "10.0.0.7", true },
	{ "[0:0::5]", "10.0.0.7", true },
	{ "[2001:db8::9]:8080", "10.0.0.7", true },
	{ "gpu-8.example:8080", "10.0.0.7", true },
	{ "10.9.9.9:1", "10.0.0.7", true },
	{ "[fe80::7]", "fe80::1%eth0", true },
	{ "[fe80::2]", "fe80::1%eth0", false },
	{ "[fe80::1%", "fe80::1%eth0", false },
	{ "[%eth0]", "fe80::1%eth0", false },
	{ "fe80::1", "fe80::1%eth0", false },
	{ "10.0.0.7%eth0", "10.0.0.7", false },
	{ "[2001:db8::8]", "10.0.0.7", false },
	{ "10.0.0.8", "10.0.0.7", false },
	{ "evil.example", "127.0.0.1", false },
	{ "localhost.evil.example", "127.0.0.1", false },
	{ "evil.example:8080", "127.0.0.1", false },
	{ "localhost:80:80", "127.0.0.1", false },
	{ "localhost@evil.example", "127.0.0.1", false },
	{ "localhost:evil", "127.0.0.1", false },
	{ "127.0.0.1.evil.example", "127.0.0.1", false },
	{ "0.0.0.0", "127.0.0.1", false },
	{ "2130706433", "127.0.0.1", false },
	{ "[::1]evil", "::1", false },
	{ "[::1]:80x", "::1", false },
	{ "[::1", "::1", false },
	{ "[]", "::1", false },
	{ ".", "127.0.0.1", false },
	{ "", "127.0.0.1", false },
	{ ":8080", "127.0.0.1", false },
};

static const struct {
	struct net_asking a;
	unsigned status;
} asked[] = {
	{ { .path = "/", .host = "localhost", .nhosts = 1 }, 0 },
	{ { .path = "/x", .host = "localhost", .nhosts = 1 }, 401 },
	{ { .path = "/x", .host = "localhost", .authorization = "Bearer s3cret-token" }, 0 },
	{ { .path = "/x", .host = "localhost", .authorization = "bearer  s3cret-token" }, 0 },
	{ { .path = "/x", .host = "localhost", .authorization = "Bearer s3cret-tokem" }, 401 },
	{ { .path = "/x", .host = "localhost", .authorization = "Bearer s3cret-toke" }, 401 },
	{ { .path = "/x", .host = "localhost", .authorization = "Bearer s3cret-tokens3cret-token" },
	  401 },
	{ { .path = "/x", .host = "localhost", .authorization = "Bearer " }, 401 },
	{ { .path = "/x", .host = "localhost", .authorization = "Basic s3cret-token" }, 401 },
	{ { .path = "/", .host = "evil", .authorization = "Bearer s3cret-token" }, 403 },
	{ { .path = "/" }, 403 },
	{ { .path = "/", .host = "localhost", .nhosts = 2 }, 400 },
	{ { .path = "/", .host = "localhost", .origin = "http://localhost:3000" }, 0 },
	{ { .path = "/", .host = "localhost", .origin = "https://gpu-7.example" }, 0 },
	{ { .path = "/", .host = "localhost", .origin = "http://evil.example" }, 403 },
	{ { .path = "/", .host = "localhost", .origin = "http://localhost.evil.example" }, 403 },
	{ { .path = "/", .host = "localhost", .origin = "null" }, 403 },
	{ { .path = "/", .host = "localhost", .origin = "" }, 403 },
	{ { .path = "/", .host = "localhost", .origin = "http://" }, 403 },
	{ { .path = "/", .host = "localhost", .site = "cross-site", .mode = "no-cors" }, 403 },
	{ { .path = "/", .host = "localhost", .site = "cross-site" }, 403 },
	{ { .path = "/", .host = "localhost", .site = "cross-site", .mode = "navigate" }, 0 },
	{ { .path = "/", .host = "localhost", .site = "same-origin", .mode = "cors" }, 0 },
};

int main(void)
{
	struct net_access_check nobody = { 0 };
	const char *why = "";

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		is_int(net_access_check_host(&guard, names[i].host, names[i].here), names[i].in,
		       "'%s' at %s", names[i].host, names[i].here);
	for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++)
		is_int(net_access_check_ask(&guard, &asked[i].a, &why), asked[i].status,
		       "%s of '%s' from '%s' with '%s'", asked[i].a.path,
		       asked[i].a.host ? asked[i].a.host : "-",
		       asked[i].a.origin ? asked[i].a.origin : "-",
		       asked[i].a.authorization ? asked[i].a.authorization : "-");
	is_int(net_access_check_ask(&nobody, &asked[1].a, &why), 0, "no token: none is needed");
	ok(net_access_check_same("", "") && !net_access_check_same("", "x") &&
		   !net_access_check_same("x", ""),
	   "empty texts");
	return tap_done();
}
