/** Figures in pages equal what the scripts compute from the stored rows. */
import { execFileSync } from 'node:child_process';
import process from 'node:process';
import { afterEach, expect, it, vi } from 'vitest';
import { publish } from '../../scripts/figures/rows.js';

afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
  process.exitCode = undefined;
});

it('the published figures equal those computed from the stored rows of results', () => {
  execFileSync('npm', ['run', '--silent', 'figures', '--', '--check'], { stdio: 'pipe' });
});

it('figures --check fails for a figure that differs from the rows, and names its page and line', () => {
  vi.spyOn(process, 'argv', 'get').mockReturnValue(['node', 'figures.ts', '--check']);
  const written = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  publish('docs/results/ablations.md', 'another figure');
  expect(process.exitCode).toBe(1);
  expect(written.mock.calls.join()).toMatch(
    /^docs\/results\/ablations\.md:\d+ differs from the rows:\n.*\n {2}another figure/,
  );
});
