/**
 * Runs before the dependencies' install scripts. On Linux, the script of onnxruntime-node downloads CUDA's libraries
 * (300 MB, from nuget.org), so the installation fails if only the npm registry is reachable. It skips existing files,
 * so this script creates empty ones; `ONNXRUNTIME_NODE_INSTALL=1 node
 * node_modules/onnxruntime-node/script/install.js` replaces them.
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
  // There is nothing to do if the package is missing or has another layout.
}

function writeEmpty(file) {
  try {
    writeFileSync(file, '', { flag: 'wx' });
  } catch {
    // The file already exists.
  }
}
