import type { ToolServer } from '../tool/define-tool'
import { addComment } from './tools/add-comment'
import { createIssue } from './tools/create-issue'
import { createPullRequest } from './tools/create-pull-request'
import { getFile } from './tools/get-file'
import { getIssue } from './tools/get-issue'
import { getPullRequest } from './tools/get-pull-request'
import { listIssues } from './tools/list-issues'
import { listPullRequests } from './tools/list-pull-requests'
import { listRepos } from './tools/list-repos'
import { searchCode } from './tools/search-code'
import { triggerWorkflow } from './tools/trigger-workflow'

/** Repositories on GitHub, or on a GitHub Enterprise server that an admin declares in its place. */
export const githubServer: ToolServer = {
  name: 'github',
  description: 'Repositories, issues, pull requests and workflows on GitHub.',
  services: {
    builtIn: (service) =>
      service === 'github'
        ? {
            baseUrl: 'https://api.github.com',
            headers: { Authorization: 'Bearer {credential}' },
          }
        : null,
    isSentInHeader: true,
  },
  tools: [
    listRepos,
    getFile,
    searchCode,
    listIssues,
    getIssue,
    createIssue,
    addComment,
    listPullRequests,
    getPullRequest,
    createPullRequest,
    triggerWorkflow,
  ],
}
