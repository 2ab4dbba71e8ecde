import type { FC } from 'hono/jsx'
import type { KnownServer, ToolVerdict } from '../contract'
import { AdminTabs } from '../web/admin-tabs'
import type { Frame } from '../web/frame'
import { Layout } from '../web/layout'
import { type Named, Who } from '../web/who'
import { policyPath } from './policy-list'

/** Who may use a tool, as far as the viewer may know that. */
export interface ToolUser extends Named {
  /** By name of the tool. */
  verdicts: ReadonlyMap<string, ToolVerdict>
}

export interface ToolsPageProps {
  frame: Frame
  servers: readonly KnownServer[]
  /** What holds for the viewer. */
  own: ReadonlyMap<string, ToolVerdict>
  /** Agents and others with rules of their own; null for who may not see that. */
  users: ToolUser[] | null
  /** Whether those without rules of their own may use it. */
  others: ReadonlyMap<string, ToolVerdict>
}

/** Every server and tool: what it does, which grant it needs, and who may use it. */
export const ToolsPage: FC<ToolsPageProps> = (props) => {
  const { frame, servers } = props
  const isAdmin = frame.viewer?.isAdmin === true
  return (
    <Layout frame={frame} title="Tools" place="admin" sheet="admin">
      <AdminTabs here="tools" isAdmin={isAdmin} />
      <h1>Tools</h1>
      <p class="lede">
        What agents can do here, and you through MCP at <code>/mcp</code>. A tool runs when the{' '}
        {isAdmin ? (
          <a class="ul" href="/policy">
            policy
          </a>
        ) : (
          'policy'
        )}{' '}
        allows its grant; no agent ever holds a key.
      </p>
      {isAdmin && (
        <p>
          Tools of other MCP servers are added, and what each needs is said, under{' '}
          <a class="ul" href="/tools/remote">
            servers of others
          </a>
          .
        </p>
      )}
      {servers.map((server) => (
        <section class="block" id={server.name}>
          <h2>
            {server.name} <span class="meta">{server.description}</span>
          </h2>
          <ServerTable {...props} server={server} />
        </section>
      ))}
    </Layout>
  )
}

const ServerTable: FC<ToolsPageProps & { server: KnownServer }> = (props) => {
  const { server, own, frame, users } = props
  return (
    <table class="tbl fold tools">
      <thead>
        <tr>
          <th scope="col">Tool</th>
          <th scope="col">Grant</th>
          <th scope="col">You</th>
          {users && <th scope="col">Who may</th>}
        </tr>
      </thead>
      <tbody>
        {server.tools.map((tool) => (
          <tr id={tool.name} data-row>
            <th scope="row">
              <b>{tool.name}</b>
              <div class="meta">{tool.description}</div>
            </th>
            <td data-l="Grant">
              <span>
                <code>{tool.grant}</code> <span class="meta">{sayTier(tool.tier)}</span>
              </span>
            </td>
            <td class="whole">
              <Verdict
                verdict={own.get(tool.name)}
                name={frame.viewer?.name ?? ''}
                isAdmin={users !== null}
              />
            </td>
            {users && (
              <td class="whole">
                <Users {...props} users={users} tool={tool.name} />
              </td>
            )}
          </tr>
        ))}
      </tbody>
    </table>
  )
}

const tierWords: Record<string, string> = {
  read: 'reads',
  write: 'writes',
  destructive: 'destructive',
}

/** Of some tools it depends on the call: `read or write`. */
const sayTier = (tier: string): string =>
  tier
    .split(' or ')
    .map((each) => tierWords[each] ?? each)
    .join(' or ')

interface VerdictProps {
  verdict: ToolVerdict | undefined
  name: string
  isAdmin: boolean
}

/** You may, or you may not because of this line of the policy. */
const Verdict: FC<VerdictProps> = ({ verdict, name, isAdmin }) => {
  if (!verdict) return null
  const { isAllowed, reason, list, grants, approval, tool } = verdict
  if (!isAllowed) {
    return (
      <>
        <b>You may not</b>: {reason}.{' '}
        {list && isAdmin && (
          <a class="ul" href={`${policyPath(name)}#${list}`}>
            Change that
          </a>
        )}
        {list && !isAdmin && <span class="meta">An admin can change that.</span>}
      </>
    )
  }
  const isWhole = grants.includes(tool.grant)
  return (
    <>
      You may
      {!isWhole && (
        <>
          {' '}
          with <code>{grants.join(', ')}</code>
        </>
      )}
      {approval !== 'never' && (
        <span class="meta">
          {approval === 'always'
            ? ', when a person says yes'
            : ', some calls when a person says yes'}
        </span>
      )}
    </>
  )
}

const usersShown = 8

const Users: FC<ToolsPageProps & { users: ToolUser[]; tool: string }> = (props) => {
  const { users, others, tool } = props
  const those = users.filter(({ verdicts }) => verdicts.get(tool)?.isAllowed)
  const rest = those.length - usersShown
  const isOpen = others.get(tool)?.isAllowed === true
  return (
    <span class="rules">
      {those.slice(0, usersShown).map((user) => (
        <Who name={user.name} kind={user.kind} />
      ))}
      {rest > 0 && <a href="/policy">and {rest} more</a>}
      {isOpen && <span class="meta">everybody without own rules</span>}
      {those.length === 0 && !isOpen && <span class="meta">nobody</span>}
    </span>
  )
}
