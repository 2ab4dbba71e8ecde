import * as z from 'zod'
import { keptResults } from '../../../config'
import { notFound } from '../../../errors'
import { defineTool } from '../../define-tool'
import { sliceUtf8 } from '../../utf8'

export const resultsReadGrant = 'results:read'
/** On the wire. */
export const resultsReadName = 'results_read'

export const read = defineTool({
  name: 'read',
  description:
    'Read on in a result of yours that was cut: give the handle and the offset that stand at the cut. ' +
    'Answers that part as it is, with a line before it that says where the next one begins.',
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
  doing: 'reading on in a long result',
  async run({ input, actor, results }) {
    const kept = await results.find(actor.accountId, input.handle)
    if (!kept) {
      throw notFound(
        'result',
        'Results are kept for a day, each for who got it. Call the tool again.',
      )
    }
    const { text, start, end } = sliceUtf8(kept.bytes, input.offset, input.limit)
    const next =
      end < kept.bytes.length ? `The next part begins at offset ${end}.` : 'This is the end.'
    return `[Bytes ${start} to ${end} of ${kept.bytes.length}. ${next}]\n${text}`
  },
})
