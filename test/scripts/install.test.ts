import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { packageRoot, packageText } from '../../src/base/package.js';

const parsed = (file: string) => JSON.parse(readFileSync(join(packageRoot(), file), 'utf8'));

it('in a checkout, the install script of onnxruntime-node is disabled, but not in .npmrc', () => {
  // npm 11 reads allowScripts. Older versions run the scripts of packages that the lock file marks; if an update of
  // onnxruntime-node adds `hasInstallScript` again, remove that line.
  expect(parsed('package.json').allowScripts).toMatchObject({ 'onnxruntime-node': false });
  expect(parsed('package-lock.json').packages['node_modules/onnxruntime-node']).not.toHaveProperty(
    'hasInstallScript',
  );
  const settings = existsSync(join(packageRoot(), '.npmrc')) ? packageText('.npmrc') : '';
  expect(settings).not.toMatch(/^onnxruntime/m);
});
