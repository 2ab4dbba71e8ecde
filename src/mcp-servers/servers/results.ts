import * as z from 'zod'
import { keptResults } from '../../shared/config'
import { sliceUtf8 } from '../../shared/cut-text'
import { notFound } from '../../shared/errors'
import { defineTool, type ToolServer } from '../tool/define-tool'

export const resultsReadGrant = 'results:read'
/** The full name of the tool. */
export const resultsReadName = 'results_read'

const read = defineTool({
  name: 'read',
  description:
    'Read the rest of a truncated result: give the handle and the offset from the note at its end. ' +
    'Returns that part unchanged, after a line with the offset of the next part.',
  input: z.strictObject({
    handle: z.string().trim().min(1).max(100),
    offset: z.int().min(0).default(0).describe('In bytes'),
    limit: z
      .int()
      .min(1)
      .max(keptResults.readBytesMax)
      .default(keptResults.readBytesDefault)
      .describe('In bytes'),
  }),
  tier: 'read',
  grant: resultsReadGrant,
  isIdempotent: true,
  readsUntrusted: true,
  doing: 'reading a long result',
  async run({ input, actor, results, privacy }) {
    const kept = await results.find(actor.accountId, input.handle, privacy.reader)
    if (!kept) {
      throw notFound(
        'result',
        'Results are stored for a day, each for the account that got it. Call the tool again.',
      )
    }
    const { text, start, end } = sliceUtf8(kept.bytes, input.offset, input.limit)
    const next =
      end < kept.bytes.length ? `The next part begins at offset ${end}.` : 'This is the end.'
    return `[Bytes ${start} to ${end} of ${kept.bytes.length}. ${next}]\n${text}`
  },
})

/** Reading results that were too large for one response. */
export const resultsServer: ToolServer = {
  name: 'results',
  description: 'Results of your own tool calls that were too large for one response.',
  isOwnStore: true,
  tools: [read],
}
