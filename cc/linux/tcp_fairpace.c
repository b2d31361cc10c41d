/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The algorithms of Fairpace in a kernel into which they are built. Files in /sys/module/tcp_fairpace/parameters:
 *
 *	add		write "KERNEL_NAME ALGORITHM VALUE...": sockets can then select KERNEL_NAME, an algorithm of
 *			algorithms.def with these parameters, as raw numbers in the order of its list. Nothing removes
 *			it: this is for a kernel that ends with its task.
 *	counters	a line for each algorithm: its name, and the values of struct cc_counters
 *	sources		the begin of a hash of the algorithms: a program that has others must not use these
 */
#include <linux/init.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/stringify.h>

#include "fairpace.h"

static LIST_HEAD(cc_all);

static int cc_register(const struct cc_listed *of, const char *kernel_name, const u32 *parameters)
{
	struct cc_instance *instance = kzalloc(struct_size(instance, parameters, of->parameter_count), GFP_KERNEL);
	int error;

	if (!instance)
		return -ENOMEM;
	instance->ops = *of->ops;
	memcpy(instance->parameters, parameters, of->parameter_count * sizeof(u32));
	error = strscpy(instance->ops.name, kernel_name);
	if (error >= 0)
		error = tcp_register_congestion_control(&instance->ops);
	if (error)
		kfree(instance);
	return error;
}

int cc_list(struct cc_listed *listed)
{
	list_add_tail(&listed->list, &cc_all);
	return cc_register(listed, listed->ops->name, listed->defaults);
}

const struct cc_listed *cc_by_name(const char *name)
{
	const struct cc_listed *listed;

	list_for_each_entry(listed, &cc_all, list) if (!strcmp(listed->name, name)) return listed;
	return NULL;
}

/* The rest of a line of `add`: as many numbers as the algorithm has parameters. */
static int cc_read(char *text, u32 *values, u32 count)
{
	const char *word;
	u32 have = 0;
	int error;

	while ((word = strsep(&text, " "))) {
		if (have == count)
			return -EINVAL;
		error = kstrtou32(word, 10, &values[have++]);
		if (error)
			return error;
	}
	return have == count ? 0 : -EINVAL;
}

static int cc_add_line(char *line)
{
	const char *kernel_name = strsep(&line, " ");
	const char *name = strsep(&line, " ");
	const struct cc_listed *listed = name ? cc_by_name(name) : NULL;
	u32 *values;
	int error;

	if (!listed)
		return -ENOENT;
	values = kcalloc(listed->parameter_count, sizeof(u32), GFP_KERNEL);
	if (!values)
		return -ENOMEM;
	error = cc_read(line, values, listed->parameter_count);
	if (!error)
		error = cc_register(listed, kernel_name, values);
	kfree(values);
	return error;
}

static int cc_add(const char *text, const struct kernel_param *parameter)
{
	char *line = kstrdup(text, GFP_KERNEL);
	int error;

	if (!line)
		return -ENOMEM;
	error = cc_add_line(strim(line));
	kfree(line);
	return error;
}

static int cc_show_counters(char *page, const struct kernel_param *parameter)
{
	const struct cc_listed *listed;
	int length = 0;
	u32 i;

	list_for_each_entry(listed, &cc_all, list)
	{
		length += scnprintf(page + length, PAGE_SIZE - length, "%s", listed->name);
		for (i = 0; i < listed->counter_count; i++)
			length += scnprintf(page + length, PAGE_SIZE - length, " %llu", listed->counters[i]);
		length += scnprintf(page + length, PAGE_SIZE - length, "\n");
	}
	return length;
}

static const struct kernel_param_ops cc_add_ops = { .set = cc_add };
module_param_cb(add, &cc_add_ops, NULL, 0200);

static const struct kernel_param_ops cc_counters_ops = { .get = cc_show_counters };
module_param_cb(counters, &cc_counters_ops, NULL, 0444);

static char *cc_sources = __stringify(CC_SOURCES);
module_param_named(sources, cc_sources, charp, 0444);
