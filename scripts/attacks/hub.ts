/** Attacks by a model hub that sends wrong files, sizes and names. */
import { once } from 'node:events';
import { mkdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, relative } from 'node:path';
import { pullModel } from '../../src/models/local/stores/hf-download.js';
import type { RandomGenerator } from '../../src/random/generator.js';
import { temporaryDirectory } from '../../test/support/temporary-directory.js';
import { type AttackKind, awaited, below, shorten } from './attack.js';
import { junkValue } from './junk.js';

const wrongIds = [
  '../../../../evil',
  '/tmp/evil',
  '..',
  '.',
  '',
  'evil/../../x',
  '..%2f..%2fevil',
  'ab\u0000cd',
  'A'.repeat(40),
  'f'.repeat(41),
  'f'.repeat(300),
  '\\..\\evil',
];

export const hub: AttackKind = {
  name: 'hub',
  percent: 100,
  async open() {
    const root = temporaryDirectory();
    let random: RandomGenerator;
    let wrong = 1;
    const id = (length = 40) =>
      random.random() < wrong ? random.choice(wrongIds) : 'c0ffee'.padEnd(length, '0');
    const size = () => (random.random() < wrong ? (junkValue(random) as number) : 4);
    const entry = (path: string) => ({
      ...{
        type: 'file',
        path: random.random() < wrong / 4 ? random.choice(wrongIds) : path,
        size: size(),
        oid: id(),
      },
      ...(random.random() < 0.3 && { lfs: { oid: id(64), size: 4, pointerSize: 4 } }),
      ...(random.random() < 0.3 && { xetHash: id(64) }),
      ...(random.random() < 0.3 && { lastCommit: { id: id(), title: '', date: '2026-01-01' } }),
    });
    const server = createServer((request, response) => {
      const url = request.url ?? '';
      if (random.random() < wrong / 10 && url.startsWith('/api/')) {
        response.writeHead(307, { location: `/moved${url}` });
        response.end();
        return;
      }
      const [kind] = /\/(revision|tree|paths-info|resolve)\//.exec(url)?.slice(1) ?? [];
      const names = ['config.json', 'model.safetensors', 'tokenizer.json'];
      if (kind === 'resolve') {
        response.writeHead(request.headers.range ? 206 : 200, {
          ...{ etag: `"${random.choice(wrongIds).replaceAll(/[^ -~]/g, '')}"`, 'content-length': 4 },
          ...(request.headers.range && { 'content-range': 'bytes 0-0/4' }),
        });
        response.end('text');
        return;
      }
      let asked = '';
      request.on('data', (chunk) => (asked += chunk));
      request.on('end', () => {
        const paths = kind === 'paths-info' ? (JSON.parse(asked) as { paths: string[] }).paths : names;
        const body =
          kind === 'revision'
            ? {
                _id: '1',
                id: 'org/tiny',
                sha: id(),
                private: false,
                downloads: 0,
                likes: 0,
                lastModified: '2026-01-01',
              }
            : paths.map(entry);
        response.setHeader('content-type', 'application/json');
        response.end(JSON.stringify(random.random() < wrong / 8 ? junkValue(random) : body));
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    return {
      async attack(next) {
        random = next;
        wrong = random.choice([0.02, 0.1, 0.5, 1]);
        const home = join(root, 'a', 'b', 'c', 'home');
        rmSync(join(root, 'a'), { recursive: true, force: true });
        mkdirSync(home, { recursive: true });
        const env = { HF_HUB_CACHE: home, HF_ENDPOINT: `http://127.0.0.1:${port}` };
        const fault = await awaited(() => pullModel('org/tiny', env));
        const model = join('a', 'b', 'c', 'home', 'models--org--tiny');
        const [outside] = below(root).filter(
          (path) => relative(model, path).startsWith('..') && !model.startsWith(path),
        );
        const named = below(home).filter((path) => /blobs\/|snapshots\/[^/]+$/.test(path));
        const strange = named.find((path) => !/\/[0-9a-f]{40,64}(\.incomplete)?$/.test(path));
        return fault ?? (outside && `wrote ${outside}`) ?? (strange && `named ${shorten(strange)}`);
      },
      close: () => {
        server.closeAllConnections();
        server.close();
      },
    };
  },
};
