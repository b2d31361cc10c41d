/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * /dev/fairpace_replay, for the test that an algorithm is the same here as in user space. What is written is the name
 * of an algorithm. An ioctl then gets the address of its struct cc_replay (../bpf/replay.h) with its parameters behind
 * it, makes the call in the kernel, and writes the result there.
 */
#include <linux/fs.h>
#include <linux/init.h>
#include <linux/miscdevice.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "fairpace.h"

/* Longest name, with its zero. */
#define NAME_BYTES 32

static int replay_open(struct inode *inode, struct file *file)
{
	file->private_data = NULL; /* instead of the device */
	return 0;
}

static ssize_t replay_write(struct file *file, const char __user *from, size_t len, loff_t *pos)
{
	char name[NAME_BYTES] = {};

	if (len >= NAME_BYTES)
		return -EINVAL;
	if (copy_from_user(name, from, len))
		return -EFAULT;
	file->private_data = (void *)cc_by_name(name);
	return file->private_data ? len : -ENOENT;
}

static long replay_ioctl(struct file *file, unsigned int command, unsigned long argument)
{
	const struct cc_listed *listed = file->private_data;
	void __user *at = (void __user *)argument;
	void *of;
	int error = 0;

	if (!listed)
		return -EINVAL;
	of = memdup_user(at, listed->replay_bytes + listed->parameter_count * sizeof(u32));
	if (IS_ERR(of))
		return PTR_ERR(of);
	listed->replay(of, of + listed->replay_bytes);
	if (copy_to_user(at, of, listed->replay_bytes))
		error = -EFAULT;
	kfree(of);
	return error;
}

static const struct file_operations replay_operations = {
	.open = replay_open,
	.write = replay_write,
	.unlocked_ioctl = replay_ioctl,
};

static struct miscdevice replay = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "fairpace_replay",
	.fops = &replay_operations,
};

static int __init replay_start(void) { return misc_register(&replay); }
device_initcall(replay_start);
