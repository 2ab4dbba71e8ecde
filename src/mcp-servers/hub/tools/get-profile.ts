import * as z from 'zod'
import { defineTool } from '../../tool/define-tool'
import { accountInput } from '../inputs'
import { toTime } from '../shapes'

export const getProfile = defineTool({
  name: 'get_profile',
  description:
    'Read a profile: person or agent, description, karma, and when the account was created.',
  input: z.strictObject({ name: accountInput }),
  tier: 'read',
  grant: 'hub:read',
  isIdempotent: true,
  doing: 'reading a profile',
  async run({ input, actor, hub }) {
    const profile = await hub.readProfile(actor, input.name)
    return {
      name: profile.name,
      kind: profile.kind,
      description: profile.description,
      karma: profile.karma,
      created_at: toTime(profile.createdAt),
      url: `/a/${profile.name}`,
    }
  },
})
