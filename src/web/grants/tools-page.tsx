import type { FC } from 'hono/jsx'
import type { CatalogServer, CatalogTool, ToolAccess } from '../../hub/contract/hub'
import { formatTier } from '../../hub/grants/policy'
import { formatPlural } from '../../shared/format'
import { Submit } from '../form/fields'
import type { Frame } from '../frame/frame'
import { AdminTabs, Layout } from '../frame/layout'
import { AccountLink, type AccountRef, TextLink } from '../parts/links'
import { policyPath } from './policy-page'

/** An account with its verdict on each tool. */
interface ToolUser extends AccountRef {
  /** By tool name. */
  verdicts: ReadonlyMap<string, ToolAccess>
}

interface ToolsPageProps {
  frame: Frame
  servers: readonly CatalogServer[]
  /** Words that the tools have to contain; '' for all. */
  query: string
  /** Verdicts of the viewer, by tool name. */
  ownVerdicts: ReadonlyMap<string, ToolAccess>
  /** Agents and accounts with their own rules; null when the viewer can't see them. */
  users: ToolUser[] | null
  /** Verdicts of accounts without their own rules, by tool name. */
  defaultVerdicts: ReadonlyMap<string, ToolAccess>
}

/** Lists the tools by server, a line each, which opens: what it does, and the accounts that can use it. */
export const ToolsPage: FC<ToolsPageProps> = (props) => {
  const { frame, query } = props
  const isAdmin = frame.viewer?.isAdmin === true
  const servers = filterTools(props.servers, query)
  const count = servers.reduce((sum, { tools }) => sum + tools.length, 0)
  return (
    <Layout frame={frame} title="Tools" place="tools" sheet="admin">
      <AdminTabs here="tools" isAdmin={isAdmin} />
      <h1>Tools</h1>
      <p class="lede">
        Tools for agents, and for you through MCP at <code>/mcp</code>. A tool runs when the{' '}
        {isAdmin ? <TextLink href="/policy">policy</TextLink> : 'policy'} allows its grant.{' '}
        {isAdmin && <TextLink href="/tools/remote">Add a remote MCP server</TextLink>}
      </p>
      <search aria-label="Tools">
        <form class="find big up4" action="/tools">
          <label class="vh" for="tool">
            Name, grant or words of the description
          </label>
          <input
            id="tool"
            type="search"
            name="q"
            value={query}
            placeholder="Name, grant or description"
          />
          <Submit>Filter</Submit>
        </form>
      </search>
      {query === '' ? (
        <nav class="acts meta up3" aria-label="Servers">
          {servers.map(({ name, tools }) => (
            <a href={`#${name}`}>
              {name} {tools.length}
            </a>
          ))}
        </nav>
      ) : (
        <p class="meta up3" role="status">
          {formatPlural(count, 'tool', 'tools')}. <TextLink href="/tools">Show all tools</TextLink>
        </p>
      )}
      {servers.map((server) => (
        <section class="block" id={server.name}>
          <h2>
            {server.name} <span class="meta">{server.description}</span>
          </h2>
          {server.tools.map((tool) => (
            <ToolItem {...props} tool={tool} isOpen={count === 1} />
          ))}
        </section>
      ))}
    </Layout>
  )
}

/** Returns the tools that have all words of a query in their name, grant, tier or description, by server. */
function filterTools(servers: readonly CatalogServer[], query: string): CatalogServer[] {
  const words = query.toLowerCase().split(/\s+/)
  return servers.flatMap((server) => {
    const tools = server.tools.filter(({ name, grant, tier, description }) => {
      const text = `${name} ${grant} ${tier} ${description}`.toLowerCase()
      return words.every((word) => text.includes(word))
    })
    return tools.length === 0 ? [] : [{ ...server, tools }]
  })
}

const ToolItem: FC<ToolsPageProps & { tool: CatalogTool; isOpen: boolean }> = (props) => {
  const { tool, ownVerdicts: own, frame, users } = props
  const verdict = own.get(tool.name)
  return (
    <details class="provider" open={props.isOpen} data-row>
      <summary>
        <b>{tool.name}</b>
        <span class="meta">
          <code>{tool.grant}</code> {formatTier(tool.tier)}
          {verdict && (verdict.isAllowed ? ', allowed' : ', not allowed')}
        </span>
      </summary>
      <div id={tool.name}>
        <p>{tool.description}</p>
        <p class="up2">
          You:{' '}
          <Verdict verdict={verdict} name={frame.viewer?.name ?? ''} isAdmin={users !== null} />
        </p>
        {users && (
          <div class="row up2">
            <span class="nb">Allowed for:</span>
            <Users {...props} users={users} tool={tool.name} />
          </div>
        )}
      </div>
    </details>
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
        {list && isAdmin && <TextLink href={`${policyPath(name)}#${list}`}>Edit policy</TextLink>}
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
