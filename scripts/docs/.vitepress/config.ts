/** `npm run docs`: the site of README.md and `docs/`, with search. Its sidebar is docs/README.md; VitePress isn't installed, npx fetches it. */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '../../..');

const read = (page: string) => readFileSync(join(root, page), 'utf8');

/** The address of a page: the README is the front page, and `docs/` is left out. */
const addressOf = (page: string) =>
  page === 'docs/README.md'
    ? '/documentation'
    : `/${page.replace(/^docs\//, '').replace(/(README)?\.md$/, '')}`;

/** The sections of the index, with the titles of the pages that they link. */
function sidebar() {
  const [, ...sections] = read('docs/README.md').split(/^## /m);
  return sections.map((section) => ({
    text: section.split('\n')[0]!,
    collapsed: true,
    items: [...section.matchAll(/\]\(([\w/-]+\.md)\)/g)].map(([, path]) => ({
      text: /^# (.*)/.exec(read(`docs/${path}`))?.[1]?.replaceAll('`', ''),
      link: addressOf(`docs/${path}`),
    })),
  }));
}

/** The part of markdown-it that is used. */
interface Markdown {
  readonly renderer: {
    readonly rules: Record<string, (tokens: readonly { content: string }[], i: number) => string>;
  };
  readonly utils: { escapeHtml(text: string): string };
}

export default {
  title: 'policyloop',
  description: 'Experiments in which a language model improves a policy',
  srcDir: root,
  srcExclude: ['**/node_modules/**', 'dist/**', 'buffers/**', 'test/**', 'examples/**', 'tuned/**'],
  outDir: join(root, 'dist/site'),
  cacheDir: join(root, 'dist/.vitepress'),
  rewrites: (page: string) =>
    `${addressOf(page)
      .slice(1)
      .replace(/(^|\/)$/, '$1index')}.md`,
  cleanUrls: true,
  // Links to folders and configs are for readers of the repository.
  ignoreDeadLinks: [(address: string) => !address.endsWith('.md') && !/^\/?[\w/-]+$/.test(address)],
  markdown: {
    // Braces in code are text, not expressions of Vue.
    config: ({ renderer, utils }: Markdown) => {
      renderer.rules.code_inline = (tokens, i) =>
        `<code v-pre>${utils.escapeHtml(tokens[i]!.content)}</code>`;
    },
  },
  themeConfig: {
    nav: [{ text: 'Documentation', link: '/documentation' }],
    sidebar: sidebar(),
    outline: [2, 3],
    search: { provider: 'local' },
  },
};
