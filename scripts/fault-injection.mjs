/**
 * Loaded before a program (`node --import`). Counts the program's changes to files below `FAULT_ROOT`, writes a line
 * for each to `FAULT_LOG`, and injects the fault `FAULT_KIND` at change number `FAULT_AT`:
 *
 * - `before`: SIGKILL before the change (which is also after the previous one).
 * - `torn`: SIGKILL after half of the data is written.
 * - `ENOSPC`: the disk is full from then on: writes half of the data, then throws an error.
 * - `EROFS`: the files are read-only from then on.
 */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { relative, resolve } from 'node:path';
import process from 'node:process';

const root = resolve(process.env.FAULT_ROOT);
const kind = process.env.FAULT_KIND;
const at = Number(process.env.FAULT_AT);
const log = process.env.FAULT_LOG;

const original = { ...fs };
const promises = { ...fs.promises };
/** Paths of open files, by descriptor. */
const open = new Map();
let count = 0;
/** True inside an `fs` function, because these call each other and a change must count once. */
let within = false;

const pathOf = (target) => {
  const path = typeof target === 'number' ? open.get(target) : resolve(String(target));
  return path === root || path?.startsWith(`${root}/`) ? path : undefined;
};

const bytesOf = (data) => (typeof data === 'string' ? Buffer.from(data) : data);

function writeHalf(target, data, flag) {
  const bytes = bytesOf(data);
  const descriptor = typeof target === 'number' ? target : original.openSync(target, flag);
  original.writeSync(descriptor, bytes, 0, Math.floor(bytes.length / 2));
  if (descriptor !== target) original.closeSync(descriptor);
}

function refusal(code, syscall, path) {
  const message = code === 'ENOSPC' ? 'no space left on device' : 'read-only file system';
  const place = path === undefined ? '' : ` '${path}'`;
  const error = new Error(`${code}: ${message}, ${syscall}${place}`);
  return Object.assign(error, { code, syscall, errno: code === 'ENOSPC' ? -28 : -30, ...(path && { path }) });
}

/**
 * @param target path or descriptor of the changed file
 * @param data data to write; undefined if the call writes none
 * @param needsSpace true if a full disk refuses the call
 */
function meet(name, target, data, needsSpace, flag = 'w') {
  const path = pathOf(target);
  if (within || path === undefined) return;
  count++;
  if (log !== undefined) original.appendFileSync(log, `${count} ${name} ${relative(root, path)}\n`);
  const now = count === at;
  if (kind === 'before' && now) process.kill(process.pid, 'SIGKILL');
  if (kind === 'torn' && now) {
    if (data !== undefined) writeHalf(target, data, flag);
    process.kill(process.pid, 'SIGKILL');
  }
  if (count < at) return;
  // The system's errors contain no path if the call used a descriptor.
  const named = typeof target === 'number' ? undefined : path;
  if (kind === 'EROFS') throw refusal(kind, name, named);
  if (kind === 'ENOSPC' && (needsSpace || (now && /sync$/.test(name)))) {
    if (now && data !== undefined) writeHalf(target, data, flag);
    throw refusal(kind, data === undefined ? name : 'write', data === undefined ? named : undefined);
  }
}

function inside(work) {
  const outer = within;
  within = true;
  try {
    return work();
  } finally {
    within = outer;
  }
}

fs.openSync = (path, flags = 'r', ...rest) => {
  // Opening an existing file needs no disk space.
  if (flags !== 'r') meet('open', path, undefined, !original.existsSync(path));
  const descriptor = inside(() => original.openSync(path, flags, ...rest));
  open.set(descriptor, resolve(String(path)));
  return descriptor;
};
fs.closeSync = (descriptor) => {
  original.closeSync(descriptor);
  open.delete(descriptor);
};
for (const [name, flag] of [
  ['writeFileSync', 'w'],
  ['appendFileSync', 'a'],
  ['writeSync', 'a'],
]) {
  fs[name] = (target, data, ...rest) => {
    meet(name, target, data, true, flag);
    return inside(() => original[name](target, data, ...rest));
  };
}
for (const [name, needsSpace] of [
  ['ftruncateSync', false],
  ['renameSync', false],
  ['unlinkSync', false],
  ['rmSync', false],
  ['mkdirSync', true],
  ['linkSync', true],
]) {
  fs[name] = (target, ...rest) => {
    // Removing a missing file changes nothing.
    if (name !== 'rmSync' || original.existsSync(target)) {
      meet(name.slice(0, -4), name === 'linkSync' ? rest[0] : target, undefined, needsSpace);
    }
    return inside(() => original[name](target, ...rest));
  };
}
fs.fdatasync = (descriptor, done) => {
  try {
    meet('fdatasync', descriptor, undefined, false);
  } catch (error) {
    setImmediate(done, error);
    return;
  }
  original.fdatasync(descriptor, done);
};
fs.fsyncSync = (descriptor) => {
  meet('fsync', descriptor, undefined, false);
  return original.fsyncSync(descriptor);
};
fs.promises.open = async (path, flags = 'r', ...rest) => {
  if (flags !== 'r') meet('open', path, undefined, !original.existsSync(path));
  const file = await promises.open(path, flags, ...rest);
  const place = resolve(String(path));
  for (const [method, name] of [
    ['writeFile', 'writeFile'],
    ['write', 'write'],
    ['sync', 'fsync'],
  ]) {
    const own = file[method].bind(file);
    file[method] = async (data, ...more) => {
      meet(name, place, name === 'fsync' ? undefined : data, name !== 'fsync');
      return own(data, ...more);
    };
  }
  return file;
};
fs.promises.writeFile = async (path, data, ...rest) => {
  meet('writeFile', path, data, true);
  return promises.writeFile(path, data, ...rest);
};
fs.promises.rename = async (from, to) => {
  meet('rename', from, undefined, false);
  return promises.rename(from, to);
};
syncBuiltinESMExports();
