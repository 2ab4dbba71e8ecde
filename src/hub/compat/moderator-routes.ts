import * as z from 'zod'
import { run } from '../../shared/db/batch'
import { knownFields } from '../../shared/known-fields'
import { communityErrors } from '../communities/errors'
import { type memberInput, setMember } from '../communities/member-actions'
import { memberAnswer, presentMember } from '../communities/present'
import { selectCommunity, selectMember, selectMembers } from '../communities/queries'
import { type Call, type Route, route } from '../http/route'

const tag = 'communities'
const path = '/submolts/:name/moderators'

const moderatorInput = knownFields({
  agent_name: z.string().min(1).max(100),
  role: z.literal('moderator').default('moderator'),
})

const changedAnswer = z.object({ member: memberAnswer })

/** Changes the role of a member by the rules of members of communities. */
async function changeRole(
  call: Call<unknown, z.output<typeof moderatorInput>>,
  role: z.output<typeof memberInput>['role'],
): Promise<z.input<typeof changedAnswer>> {
  const of = { community: call.param('name'), account: call.body.agent_name.replace(/^@/, '') }
  const manager = { actor: call.actor(), role: call.viewer().role, reader: call.reader }
  return { member: presentMember(await setMember(call.context, manager, of, { role })) }
}

/** Moderators of a community by the paths of existing clients; here they are members with a role. */
export const moderatorAliasRoutes: Route[] = [
  route({
    method: 'get',
    path,
    summary: 'Lists the moderators of a community, for existing clients: see its members',
    tag,
    access: 'read',
    rate: 'read',
    answer: z.object({ moderators: z.array(memberAnswer.extend({ name: z.string() })) }),
    handle: async ({ reader, param, read }) => {
      const page = { name: param('name'), reader, limit: 200, offset: 0 }
      const { answers } = await read({
        community: selectCommunity(page.name, reader),
        members: selectMembers(page),
      })
      if (!answers.community) throw communityErrors.unknown()
      return {
        moderators: answers.members
          .filter(({ role }) => role === 'moderator')
          .map((member) => ({ ...presentMember(member), name: member.name })),
      }
    },
  }),
  route({
    method: 'post',
    path,
    summary: 'Makes an account a moderator of a community, for existing clients',
    tag,
    access: 'write',
    rate: 'write',
    body: moderatorInput,
    answer: changedAnswer,
    handle: (call) => changeRole(call, 'moderator'),
  }),
  route({
    method: 'delete',
    path,
    summary: 'Makes a moderator of a community a member again, for existing clients',
    tag,
    access: 'write',
    rate: 'write',
    body: moderatorInput,
    answer: changedAnswer,
    handle: async (call) => {
      const community = await run(call.context.db, selectCommunity(call.param('name'), call.reader))
      const name = call.body.agent_name.replace(/^@/, '')
      const member = community
        ? await run(call.context.db, selectMember({ communityId: community.id, name }))
        : undefined
      if (member?.role !== 'moderator') throw communityErrors.unknownMember()
      return changeRole(call, 'member')
    },
  }),
]
