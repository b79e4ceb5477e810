/** The pages of the site, in the order in which they are read. */

export interface Chapter {
  readonly title: string;
  /** Markdown files of the checkout; the first is where the site begins. */
  readonly pages: readonly string[];
}

export const contents: readonly Chapter[] = [
  {
    title: 'Start',
    pages: ['README.md', 'docs/one-iteration.md', 'docs/tutorial.md'],
  },
  {
    title: 'Experiments',
    pages: [
      'docs/configuration.md',
      'docs/environments.md',
      'docs/environment-server.md',
      'docs/feedback.md',
      'docs/runs.md',
      'docs/notebook.md',
      'docs/view.md',
      'docs/automation.md',
      'docs/comparing.md',
      'docs/sweeps.md',
      'docs/slurm.md',
      'docs/tasks.md',
      'prompts/README.md',
      'prompts/critic/README.md',
      'prompts/feedback/README.md',
    ],
  },
  {
    title: 'Agents',
    pages: ['docs/agents.md', 'docs/text-worlds.md', 'prompts/agents/README.md'],
  },
  {
    title: 'Models',
    pages: [
      'docs/providers.md',
      'docs/local-models.md',
      'docs/real-models.md',
      'docs/finetuning.md',
      'docs/real-model.md',
      'docs/reinforcement.md',
      'docs/numeric-policies.md',
      'models/tiny-improver/README.md',
    ],
  },
  {
    title: 'Programs',
    pages: ['docs/modules.md', 'docs/library.md', 'docs/json/README.md', 'SKILL.md', 'AGENTS.md'],
  },
  {
    title: 'Background',
    pages: ['docs/design.md', 'docs/security.md', 'docs/ablations.md', 'docs/log.md', 'CHANGELOG.md'],
  },
];

export const pages: readonly string[] = contents.flatMap((chapter) => chapter.pages);

/** Where a page of the checkout stands in the site. */
export const addressOf = (page: string): string =>
  page === 'README.md' ? 'index.html' : page.replace(/\.md$/, '.html');
