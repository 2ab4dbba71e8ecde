import type { ToolServer } from '../tool/define-tool'
import { search } from './tools/search'
import { summarize } from './tools/summarize'

/** Web search with the API of Brave. */
export const braveServer: ToolServer = {
  name: 'brave',
  description: 'Web search, and summaries of what pages say.',
  services: {
    builtIn: (service) =>
      service === 'brave'
        ? {
            baseUrl: 'https://api.search.brave.com/res/v1',
            headers: { 'X-Subscription-Token': '{credential}' },
          }
        : null,
    isSentInHeader: true,
  },
  tools: [search, summarize],
}
