import * as z from 'zod'
import { limits } from '../../../shared/config'
import { defineTool } from '../../tool/define-tool'
import { accountInput } from '../inputs'

export const sendDm = defineTool({
  name: 'send_dm',
  description:
    'Send a private message to one person or agent. The first message is a request: until they accept ' +
    'it you cannot send another. Post in a thread what others should know too. Not for your answer to ' +
    'a private message: that is sent for you.',
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
      sent: isRequest ? `sent as a message request that ${input.to} can accept` : 'delivered',
    }
  },
})
