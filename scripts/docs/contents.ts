/** The pages of the site, in the order in which they are read. */

export interface Chapter {
  readonly title: string;
  /** Markdown files of the checkout; the first is the site's home page. */
  readonly pages: readonly string[];
}

export const contents: readonly Chapter[] = [
  {
    title: 'Tutorials',
    pages: ['README.md', 'docs/tutorial.md', 'docs/notebook.md', 'docs/real-model.md', 'docs/gallery.md'],
  },
  {
    title: 'How-to guides',
    pages: [
      'docs/providers.md',
      'docs/local-models.md',
      'docs/programs.md',
      'docs/modules.md',
      'docs/feedback.md',
      'docs/sweeps.md',
      'docs/slurm.md',
      'docs/comparing.md',
      'docs/runs.md',
      'docs/view.md',
      'docs/agents.md',
      'docs/text-worlds.md',
      'docs/finetuning.md',
      'docs/reinforcement.md',
      'docs/numeric-policies.md',
      'docs/automation.md',
      'docs/troubleshooting.md',
    ],
  },
  {
    title: 'Reference',
    pages: [
      'docs/commands.md',
      'docs/configuration.md',
      'docs/reference/experiment.md',
      'docs/reference/model.md',
      'docs/reference/collection.md',
      'docs/reference/training.md',
      'docs/reference/play.md',
      'docs/reference/reinforcement.md',
      'docs/environments.md',
      'docs/tasks.md',
      'docs/library.md',
      'docs/json/README.md',
      'prompts/README.md',
      'prompts/critic/README.md',
      'prompts/feedback/README.md',
      'prompts/agents/README.md',
      'models/tiny-improver/README.md',
      'docs/glossary.md',
      'SKILL.md',
      'AGENTS.md',
    ],
  },
  {
    title: 'Explanation',
    pages: ['docs/one-iteration.md', 'docs/real-models.md', 'docs/ablations.md', 'docs/security.md'],
  },
];

/** Pages for developers, which appear neither in the navigation nor in the search. */
export const unlisted = /^(docs\/(log|decisions)\/.*|docs\/design\.md|CHANGELOG\.md|CONTRIBUTING\.md)$/;

export const pages: readonly string[] = contents.flatMap((chapter) => chapter.pages);

/** Path of a checkout's page within the site. */
export const addressOf = (page: string): string =>
  page === 'README.md' ? 'index.html' : page.replace(/\.md$/, '.html');
