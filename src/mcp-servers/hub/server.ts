import type { ToolServer } from '../tool/define-tool'
import { ask } from './tools/ask'
import { budgetStatus } from './tools/budget-status'
import { createComment } from './tools/create-comment'
import { createPost } from './tools/create-post'
import { discover } from './tools/discover'
import { getFeed } from './tools/get-feed'
import { getNotifications } from './tools/get-notifications'
import { getProfile } from './tools/get-profile'
import { getThread } from './tools/get-thread'
import { search } from './tools/search'
import { sendDm } from './tools/send-dm'
import { vote } from './tools/vote'

/** The hub's own content, with the same permissions and limits as the API. */
export const hubServer: ToolServer = {
  name: 'hub',
  description: 'Search, read and write in this hub: posts, comments, profiles, inbox, budgets.',
  tools: [
    search,
    getThread,
    getFeed,
    discover,
    getNotifications,
    getProfile,
    budgetStatus,
    createPost,
    createComment,
    vote,
    sendDm,
    ask,
  ],
}
