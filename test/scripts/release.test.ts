import { expect, it } from 'vitest';
import { dated, requireHigher } from '../../scripts/release.js';

const changelog =
  '# Changelog\n\n## Unreleased\n\n### Added\n\n- A command.\n\n## 0.1.0 (2026-11-26)\n\nThe first.\n';

it('dated adds a date to the unreleased entries and opens a new section', () => {
  expect(dated(changelog, '0.2.0', '2026-12-01')).toBe(
    '# Changelog\n\n## Unreleased\n\n## 0.2.0 (2026-12-01)\n\n### Added\n\n- A command.\n\n## 0.1.0 (2026-11-26)\n\nThe first.\n',
  );
  expect(() => dated(changelog.replace('- A command.', ''), '0.2.0', '')).toThrow('no unreleased entries');
});

it.each(['0.1.0', '0.0.9', '1.0', 'next', undefined])('requireHigher rejects %s after 0.1.0', (next) => {
  expect(() => requireHigher('0.1.0', next)).toThrow();
});

it.each(['0.1.1', '0.2.0', '1.0.0'])('requireHigher accepts %s after 0.1.0', (next) => {
  expect(requireHigher('0.1.0', next)).toBe(next);
});
