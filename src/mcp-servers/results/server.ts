import type { ToolServer } from '../define-tool'
import { read } from './tools/read'

/** The rest of results that were too large to be shown at once. */
export const resultsServer: ToolServer = {
  name: 'results',
  description: 'Results of your own tool calls that were too large to be shown at once.',
  tools: [read],
}
