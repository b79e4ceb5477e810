/** Links in Markdown files have targets, both in a checkout and in the installed package. */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';

const root = resolve(import.meta.dirname, '../..');

interface Link {
  readonly file: string;
  readonly target: string;
}

const withoutBlocks = (markdown: string) => markdown.replaceAll(/^(```+|~~~+)[\s\S]*?^\1.*$/gm, '');

/** Text without code, where brackets aren't links. */
const prose = (markdown: string) =>
  withoutBlocks(markdown).replaceAll(/(`+)(?!`)[\s\S]*?[^`]\1(?!`)/g, 'code');

function linksIn(file: string, markdown: string): readonly Link[] {
  const text = prose(markdown);
  const found = [
    ...text.matchAll(/\]\(\s*<?([^)\s>]+)>?(?:\s+["'(][^)]*)?\)/g),
    ...text.matchAll(/^ {0,3}\[[^\]]+\]:\s*<?([^\s>]+)/gm),
    ...text.matchAll(/<[^>]+\b(?:href|src)=["']([^"']+)/g),
  ];
  return found.map(([, target]) => ({ file, target: target! }));
}

/** Anchors that GitHub derives from headings, and explicit ones. */
function anchorsIn(markdown: string): ReadonlySet<string> {
  const seen = new Map<string, number>();
  const slug = (heading: string) =>
    heading
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\p{M} _-]/gu, '')
      .replaceAll(' ', '-');
  const headings = withoutBlocks(markdown).matchAll(/^#{1,6} +(.+?) *#*$/gm);
  const written = [...markdown.matchAll(/<[^>]+\b(?:id|name)=["']([^"']+)/g)];
  return new Set([
    ...[...headings].map(([, heading]) => {
      const base = slug(heading!.trim());
      const times = seen.get(base) ?? 0;
      seen.set(base, times + 1);
      return times === 0 ? base : `${base}-${times}`;
    }),
    ...written.map(([, id]) => id!),
  ]);
}

const isElsewhere = (target: string) => /^[a-z][a-z+.-]*:|^\/\//i.test(target);

/** The problem with a link if only the given files and their folders exist; undefined if it has a target. */
function broken(
  { file, target }: Link,
  files: ReadonlySet<string>,
  read: (file: string) => string,
): string | undefined {
  if (isElsewhere(target)) return undefined;
  const [path = '', anchor] = decodeURIComponent(target).split('#');
  const place = path === '' ? file : join(dirname(file), path).replace(/\/$/, '');
  const isThere = files.has(place) || [...files].some((one) => one.startsWith(`${place}/`));
  if (!isThere) return `${file}: ${target} is not there`;
  if (anchor === undefined || !place.endsWith('.md')) return undefined;
  return anchorsIn(read(place)).has(anchor) ? undefined : `${file}: ${target} has no such heading`;
}

/** Files that no tool or run has produced. */
function filesBelow(folder: string): readonly string[] {
  const made = ['node_modules', 'dist', 'coverage', 'buffers', '.git', '.policyloop'];
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (made.includes(entry.name)) return [];
    return entry.isDirectory() ? filesBelow(path) : [path];
  });
}

const read = (file: string) => readFileSync(join(root, file), 'utf8');

function problemsOf(files: ReadonlySet<string>): readonly string[] {
  const links = [...files]
    .filter((file) => file.endsWith('.md'))
    .flatMap((file) => linksIn(file, read(file)));
  expect(links.length).toBeGreaterThan(30);
  return links.flatMap((link) => broken(link, files, read) ?? []);
}

describe('relative links in Markdown files', () => {
  it('point to existing files and headings in a checkout', () => {
    expect(problemsOf(new Set(filesBelow('')))).toEqual([]);
  });

  it('point to existing files and headings in the installed package', () => {
    const packed = execFileSync('npm', ['pack', '--dry-run', '--ignore-scripts', '--json'], {
      cwd: root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const [{ files }] = JSON.parse(packed) as [{ files: readonly { path: string }[] }];
    const paths = new Set(files.map(({ path }) => path));
    expect([...paths]).toContain('docs/reference/configuration.md');
    expect(problemsOf(paths)).toEqual([]);
  });

  it('are reported if they are broken', () => {
    const texts: Record<string, string> = {
      'README.md':
        '# A `b` (c)\n[1](docs/a.md#x-y) [2](docs/b.md) [3](docs/a.md#z) [4](#a-b-c) [5](#a)\n`[6](x)` [r]\n\n[r]: docs/c.md\n',
      'docs/a.md': '# X: y\n```md\n# Z\n```\n<img src="p.png">',
    };
    const files = new Set(Object.keys(texts));
    const found = Object.entries(texts)
      .flatMap(([file, text]) => linksIn(file, text))
      .flatMap((link) => broken(link, files, (file) => texts[file]!) ?? []);
    expect(found).toEqual([
      'README.md: docs/b.md is not there',
      'README.md: docs/a.md#z has no such heading',
      'README.md: #a has no such heading',
      'README.md: docs/c.md is not there',
      'docs/a.md: p.png is not there',
    ]);
  });
});
