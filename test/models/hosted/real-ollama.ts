import { execFile, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { temporaryDirectory } from '../../support/temporary-directory.js';

export interface RealOllama {
  readonly url: string;
  /** Makes a model of a Modelfile. */
  create(name: string, modelfile: string): Promise<void>;
  /** SIGKILL, its runners included. */
  kill(): void;
  /** Starts it anew, at the same address. */
  start(): Promise<void>;
}

/** A server of the program at `binary`, with models of its own. */
export async function startRealOllama(binary: string): Promise<RealOllama> {
  const place = temporaryDirectory();
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const env = {
    ...process.env,
    OLLAMA_HOST: url,
    OLLAMA_MODELS: join(place, 'models'),
    HOME: place,
    OLLAMA_NOPRUNE: '1',
  };
  let group: number | undefined;
  const start = async () => {
    group = spawn(binary, ['serve'], { env, detached: true, stdio: 'ignore' }).pid;
    for (let tries = 0; tries < 300; tries++) {
      const { ok } = await fetch(url).catch(() => ({ ok: false }));
      if (ok) return;
      await pause(100);
    }
    throw new Error(`${binary} serve does not answer`);
  };
  await start();
  return {
    url,
    start,
    async create(name, modelfile) {
      const file = modelfile.includes('\n') ? join(place, `${name}.Modelfile`) : modelfile;
      if (file !== modelfile) writeFileSync(file, modelfile);
      await promisify(execFile)(binary, ['create', name, '-f', file], { env });
    },
    kill() {
      if (group !== undefined) process.kill(-group, 'SIGKILL');
      group = undefined;
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
