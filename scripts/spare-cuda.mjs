/**
 * Runs before the scripts of the dependencies. That of onnxruntime-node fetches CUDA's libraries (300 MB, from nuget.org)
 * on Linux, which fails the installation where only the npm registry answers. It fetches none that are there, so empty
 * files stand for them until `ONNXRUNTIME_NODE_INSTALL=1 node node_modules/onnxruntime-node/script/install.js`.
 */
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { arch, platform } from 'node:os';
import { dirname, join } from 'node:path';

const require = createRequire(import.meta.url);
const target = `${platform()}/${arch()}`;
try {
  const file = require.resolve('onnxruntime-node/package.json');
  const [napi] = require(file).binary.napi_versions;
  const { manifests, requirements } = require('onnxruntime-node/script/install-metadata.js');
  const names = requirements[target].flatMap((name) => Object.keys(manifests[`${target}:${name}`]));
  for (const name of names) writeEmpty(join(dirname(file), 'bin', `napi-v${napi}`, target, name));
} catch {
  // Without the package, or with one of another layout, nothing is to be done.
}

function writeEmpty(file) {
  try {
    writeFileSync(file, '', { flag: 'wx' });
  } catch {
    // It is there already.
  }
}
