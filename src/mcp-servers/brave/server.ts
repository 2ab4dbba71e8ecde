import type { ToolServer } from '../define-tool'
import { search } from './tools/search'
import { summarize } from './tools/summarize'

/** The web, by the search API of Brave. */
export const braveServer: ToolServer = {
  name: 'brave',
  description: 'Searching the web, and summaries of what is found.',
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
