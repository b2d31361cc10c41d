// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/fairpace: the channel between a program in User-mode Linux and the program that has started it, which leaves
 * it two open files. What the guest reads comes from the one, what it writes goes to the other. The host's system call
 * ends before the guest proceeds, so no interrupt arrives at a time of the host, as it would with a console.
 */
#include <linux/fs.h>
#include <linux/init.h>
#include <linux/miscdevice.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <os.h>

/* Descriptors of the host (crates/virtual/src/uml.rs). */
#define FROM_HOST 1001
#define TO_HOST	  1002

/* Most bytes of one transfer. */
#define CHUNK PAGE_SIZE

static ssize_t host_read(struct file *file, char __user *to, size_t len, loff_t *pos)
{
	void *chunk = kmalloc(CHUNK, GFP_KERNEL);
	ssize_t done;

	if (!chunk)
		return -ENOMEM;
	done = os_read_file(FROM_HOST, chunk, min_t(size_t, len, CHUNK));
	if (done > 0 && copy_to_user(to, chunk, done))
		done = -EFAULT;
	kfree(chunk);
	return done;
}

static ssize_t host_write(struct file *file, const char __user *from, size_t len, loff_t *pos)
{
	void *chunk = kmalloc(CHUNK, GFP_KERNEL);
	ssize_t done = min_t(size_t, len, CHUNK);

	if (!chunk)
		return -ENOMEM;
	if (copy_from_user(chunk, from, done))
		done = -EFAULT;
	else
		done = os_write_file(TO_HOST, chunk, done);
	kfree(chunk);
	return done;
}

static const struct file_operations host_operations = {
	.read = host_read,
	.write = host_write,
};

static struct miscdevice host = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "fairpace",
	.fops = &host_operations,
};

static int __init host_start(void)
{
	return misc_register(&host);
}
device_initcall(host_start);
