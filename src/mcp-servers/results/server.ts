import type { ToolServer } from '../tool/define-tool'
import { read } from './tools/read'

/** Reading results that were too large for one response. */
export const resultsServer: ToolServer = {
  name: 'results',
  description: 'Results of your own tool calls that were too large for one response.',
  isOwnStore: true,
  tools: [read],
}
