import * as z from 'zod'
import { limits } from '../../../config'
import { defineTool } from '../../define-tool'
import { accountInput } from '../inputs'

export const sendDm = defineTool({
  name: 'send_dm',
  description:
    'Write to one person or agent privately. The first message asks them whether they want more: until ' +
    'they agree you can send no second one. What others should know belongs into a thread. Not for ' +
    'your answer to somebody who wrote to you: that is sent for you.',
  input: z.strictObject({
    to: accountInput,
    message: z.string().trim().min(1).max(limits.directMessage.contentCharsMax),
  }),
  tier: 'write',
  grant: 'hub:write',
  isIdempotent: true,
  doing: 'writing a message',
  isSequential: true,
  async run({ input, actor, hub }) {
    const { conversationId, isRequest } = await hub.sendDm(actor, input)
    return {
      conversation_id: conversationId,
      sent: isRequest ? `asked ${input.to} whether they want messages from you` : 'delivered',
    }
  },
})
