/** The app. It draws the page in a saved file, or all pages of `policyloop view`. */
import { render } from 'preact';
import { showView } from './app.js';
import { html } from './base/html.js';
import { openTarget, type Page, PageView } from './pages/shown-page.js';

addEventListener('hashchange', openTarget);
const pageElement = document.getElementById('page');
if (pageElement === null) showView();
else {
  render(html`<${PageView} page=${JSON.parse(pageElement.textContent) as Page} />`, document.body);
  openTarget();
}
