import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import { beforeEach, describe, expect, it } from 'vitest';
import { UserError } from '../../../src/base/errors.js';
import { isLocked, takeLock } from '../../../src/base/files/lock.js';
import { built } from '../../support/built.js';
import { temporaryDirectory } from '../../support/temporary-directory.js';

/** Whether the system reports when a process started. */
const tellsStarts = existsSync('/proc/self/stat');

let path: string;
beforeEach(() => {
  path = join(temporaryDirectory(), 'run.lock');
});

describe('takeLock', () => {
  it('allows only one writer at a time, and releases the lock', () => {
    const release = takeLock(path);
    expect(isLocked(path)).toBe(true);
    expect(() => takeLock(path)).toThrow(UserError);
    release();
    expect(existsSync(path)).toBe(false);
    takeLock(path)();
  });

  it('fails if another live process holds the lock, and names that process', () => {
    const child = spawn(process.execPath, ['-e', 'setTimeout(() => {}, 60000)']);
    try {
      writeFileSync(path, `${child.pid} ${hostname()}\n`);
      expect(() => takeLock(path)).toThrow(`process ${child.pid} on ${hostname()}`);
    } finally {
      child.kill();
    }
  });

  it('takes over the lock of a process that has exited', async () => {
    const child = spawn(process.execPath, ['-e', '']);
    await new Promise((resolve) => child.once('exit', resolve));
    writeFileSync(path, `${child.pid} ${hostname()}\n`);
    expect(isLocked(path)).toBe(false);
    takeLock(path)();
  });

  it('takes over a stale lock whose process id is now that of this process', () => {
    writeFileSync(path, `${process.pid} ${hostname()}\n`);
    takeLock(path)();
  });

  it('respects a lock held by another thread of the process', async () => {
    const source = `
      const { parentPort } = require('node:worker_threads');
      import(${JSON.stringify(pathToFileURL(built('src/base/files/lock.js')).href)}).then(({ takeLock }) => {
        const release = takeLock(${JSON.stringify(path)});
        parentPort.once('message', () => { release(); parentPort.postMessage('released'); });
        parentPort.postMessage('locked');
      });`;
    const thread = new Worker(source, { eval: true });
    try {
      await once(thread, 'message');
      expect(isLocked(path)).toBe(true);
      expect(() => takeLock(path)).toThrow(UserError);
      thread.postMessage('release');
      await once(thread, 'message');
      expect(isLocked(path)).toBe(false);
    } finally {
      await thread.terminate();
    }
  }, 60_000);

  it('takes over a lock that a full disk left empty', () => {
    writeFileSync(path, '');
    takeLock(path)();
  });

  it('takes over a lock whose process id now belongs to another process', { skip: !tellsStarts }, () => {
    const child = spawn(process.execPath, ['-e', 'setTimeout(() => {}, 60000)']);
    try {
      writeFileSync(path, `${child.pid} ${hostname()} 1\n`);
      expect(isLocked(path)).toBe(false);
      takeLock(path)();
    } finally {
      child.kill();
    }
  });

  it('removes the drafts of dead processes, but not of live ones', () => {
    writeFileSync(path, '');
    writeFileSync(`${path}.999999999`, 'of a process that was killed');
    writeFileSync(`${path}.${process.ppid}`, '');
    const release = takeLock(path);
    const draft = `run.lock.${process.ppid}`;
    expect(readdirSync(dirname(path)).toSorted()).toEqual(['run.lock', draft]);
    expect(() => takeLock(path)).toThrow(UserError);
    expect(readdirSync(dirname(path)).toSorted()).toEqual(['run.lock', draft]);
    release();
    expect(readdirSync(dirname(path))).toEqual([draft]);
  });

  it('admits one of several processes that find the same stale lock', async () => {
    writeFileSync(path, '');
    const source = `
      import { takeLock } from ${JSON.stringify(pathToFileURL(built('src/base/files/lock.js')).href)};
      try { takeLock(process.argv[1]); console.log('in'); process.stdin.resume(); }
      catch (error) { console.log(error.name); process.exit(0); }`;
    const children = Array.from({ length: 3 }, () =>
      spawn(process.execPath, ['--input-type=module', '-e', source, path]),
    );
    try {
      const said = await Promise.all(
        children.map(async ({ stdout }) => String((await once(stdout, 'data'))[0]).trim()),
      );
      expect(said.toSorted()).toEqual([...Array(2).fill('UserError'), 'in']);
    } finally {
      for (const child of children) child.kill('SIGKILL');
    }
  }, 60_000);

  it('respects the lock of another host', () => {
    writeFileSync(path, '1 some-other-host\n');
    expect(() => takeLock(path)).toThrow('process 1 on some-other-host');
  });
});
