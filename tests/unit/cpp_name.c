/* SPDX-License-Identifier: Apache-2.0 */
/* C++ names as people say them, and names of other languages as they are. */
#include "tests/tap.h"

#include "lib/base/cpp_name.h"

static const struct {
	const char *name, *want;
} rows[] = {
	{ "cuda_launch", "cuda_launch" },
	{ "serve_decoder(int, long)", "serve_decoder" },
	{ "float Ring<float>::pop_wait<int>(long) const", "Ring::pop_wait" },
	{ "media_size(std::__cxx11::basic_string<char, std::char_traits<char>, "
	  "std::allocator<char> > const&)",
	  "media_size" },
	{ "std::vector<float, std::allocator<float> >::_M_default_append(unsigned long)",
	  "std::vector::_M_default_append" },
	{ "at::native::structured_cat_out_cpu::impl(c10::IListRef<at::Tensor> const&, long)",
	  "at::native::structured_cat_out_cpu::impl" },
	{ "void c10::function_ref<void (char**, long const*, long, long)>::callback_fn<int>(long)",
	  "c10::function_ref::callback_fn" },
	{ "at::native::(anonymous namespace)::threshold_kernel_impl<float>(at::TensorIterator&)",
	  "at::native::(anonymous namespace)::threshold_kernel_impl" },
	{ "(anonymous namespace)::work(int)", "(anonymous namespace)::work" },
	{ "run(int)::{lambda(long)#1}::operator()(long) const", "run::{lambda}::operator()" },
	{ "Pool::start(int) const::{lambda()#2}::operator()() const",
	  "Pool::start::{lambda}::operator()" },
	{ "Matrix::operator<(Matrix const&) const", "Matrix::operator<" },
	{ "std::ostream& operator<< <char>(std::ostream&, char)", "operator<< <char>" },
	{ "operator new(unsigned long)", "operator new" },
	{ "Text::operator std::string() const", "Text::operator std::string" },
	{ "Node::operator->() const", "Node::operator->" },
	{ "decltype(auto) visit<int>(int)", "visit" },
	{ "work(int) [clone .cold]", "work" },
	{ "std::thread::_State_impl<std::thread::_Invoker<std::tuple<void (*)(int), int> > "
	  ">::_M_run()",
	  "std::thread::_State_impl::_M_run" },
	{ "my_operator(int)", "my_operator" },
	{ "<alloc::vec::Vec<T> as core::iter::Extend<T>>::extend",
	  "<alloc::vec::Vec<T> as core::iter::Extend<T>>::extend" },
	{ "core::ptr::drop_in_place<alloc::vec::Vec<u8>>", "core::ptr::drop_in_place" },
	{ "open(", "open" },
	{ "(", "(" },
	{ "a<", "a" },
	{ "", "" },
};

int main(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct buf out = { 0 };

		buf_puts(&out, "in ");
		cpp_name_print(&out, bytes_of(rows[i].name));
		is_str(buf_text(&out) + 3, rows[i].want, "%s", rows[i].name);
		buf_free(&out);
	}
	return tap_done();
}
