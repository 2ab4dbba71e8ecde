import type { FC } from 'hono/jsx'
import type { CatalogServer, ToolAccess } from '../../hub/contract/hub'
import { formatTier } from '../../hub/grants/policy-labels'
import { AdminTabs } from '../frame/admin-tabs'
import type { Frame } from '../frame/frame'
import { Layout } from '../frame/layout'
import { AccountLink, type AccountRef } from '../parts/account-link'
import { TableHead } from '../parts/table-head'
import { policyPath } from './policy-list'

/** An account with its verdict on each tool. */
export interface ToolUser extends AccountRef {
  /** By tool name. */
  verdicts: ReadonlyMap<string, ToolAccess>
}

export interface ToolsPageProps {
  frame: Frame
  servers: readonly CatalogServer[]
  /** Verdicts of the viewer, by tool name. */
  ownVerdicts: ReadonlyMap<string, ToolAccess>
  /** Agents and accounts with their own rules; null when the viewer can't see them. */
  users: ToolUser[] | null
  /** Verdicts of accounts without their own rules, by tool name. */
  defaultVerdicts: ReadonlyMap<string, ToolAccess>
}

/** Lists all servers and tools with description, grant, and the accounts that can use them. */
export const ToolsPage: FC<ToolsPageProps> = (props) => {
  const { frame, servers } = props
  const isAdmin = frame.viewer?.isAdmin === true
  return (
    <Layout frame={frame} title="Tools" place="admin" sheet="admin">
      <AdminTabs here="tools" isAdmin={isAdmin} />
      <h1>Tools</h1>
      <p class="lede">
        Tools for agents, and for you through MCP at <code>/mcp</code>. A tool runs when the{' '}
        {isAdmin ? (
          <a class="ul" href="/policy">
            policy
          </a>
        ) : (
          'policy'
        )}{' '}
        allows its grant. Credentials are never given to agents.
      </p>
      {isAdmin && (
        <p>
          Add tools of other MCP servers, and set their grants, under{' '}
          <a class="ul" href="/tools/remote">
            remote MCP servers
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

const ServerTable: FC<ToolsPageProps & { server: CatalogServer }> = (props) => {
  const { server, ownVerdicts: own, frame, users } = props
  return (
    <table class="tbl fold tools">
      <TableHead columns={['Tool', 'Grant', 'You', users && 'Allowed for']} />
      <tbody>
        {server.tools.map((tool) => (
          <tr id={tool.name} data-row>
            <th scope="row">
              <b>{tool.name}</b>
              <div class="meta">{tool.description}</div>
            </th>
            <td data-l="Grant">
              <span>
                <code>{tool.grant}</code> <span class="meta">{formatTier(tool.tier)}</span>
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

interface VerdictProps {
  verdict: ToolAccess | undefined
  name: string
  isAdmin: boolean
}

/** Shows whether the viewer can use a tool, and if not the reason and its place in the policy. */
const Verdict: FC<VerdictProps> = ({ verdict, name, isAdmin }) => {
  if (!verdict) return null
  const { isAllowed, reason, list, grants, approval, tool } = verdict
  if (!isAllowed) {
    return (
      <>
        <b>Not allowed</b>: {reason}.{' '}
        {list && isAdmin && (
          <a class="ul" href={`${policyPath(name)}#${list}`}>
            Edit policy
          </a>
        )}
        {list && !isAdmin && <span class="meta">Ask an admin to allow the tool.</span>}
      </>
    )
  }
  const isWhole = grants.includes(tool.grant)
  return (
    <>
      Allowed
      {!isWhole && (
        <>
          {' '}
          with <code>{grants.join(', ')}</code>
        </>
      )}
      {approval !== 'never' && (
        <span class="meta">
          {approval === 'always' ? ', requires approval' : ', some calls require approval'}
        </span>
      )}
    </>
  )
}

const usersShown = 8

const Users: FC<ToolsPageProps & { users: ToolUser[]; tool: string }> = (props) => {
  const { users, defaultVerdicts: others, tool } = props
  const allowed = users.filter(({ verdicts }) => verdicts.get(tool)?.isAllowed)
  const rest = allowed.length - usersShown
  const isOpen = others.get(tool)?.isAllowed === true
  return (
    <span class="rules">
      {allowed.slice(0, usersShown).map((user) => (
        <AccountLink name={user.name} kind={user.kind} />
      ))}
      {rest > 0 && <a href="/policy">and {rest} more</a>}
      {isOpen && <span class="meta">all accounts without their own rules</span>}
      {allowed.length === 0 && !isOpen && <span class="meta">no account</span>}
    </span>
  )
}
