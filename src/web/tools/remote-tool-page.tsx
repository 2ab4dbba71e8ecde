import type { FC } from 'hono/jsx'
import type { RemoteToolText } from '../../mcp-servers/contract/tool-admin'
import { remoteServerPath } from '../../shared/paths'
import { ErrorSummary } from '../form/error-summary'
import type { FormProblem } from '../form/form-state'
import { MappingFields, type TypedMapping, toChoice } from './mapping-form'
import { Lines } from './remote-page'
import { remotePath } from './remote-paths'

interface RemoteToolPageProps {
  tool: RemoteToolText
  problem: FormProblem | null
  typed: TypedMapping
}

/** One remote tool: its whole description or what changed, and the form that maps it. */
export const RemoteToolPage: FC<RemoteToolPageProps> = ({ tool, problem, typed }) => {
  const isWaiting = tool.state === 'changed' || tool.state === 'gone'
  return (
    <>
      <p>
        <a class="ul" href={remoteServerPath(tool.server)}>
          Tools of {tool.server}
        </a>
      </p>
      <h1>
        <code>{tool.tool}</code>
      </h1>
      <p class="lede">
        {explainState(tool)}
        {tool.says_read_only && ' The server says that it only reads.'}
      </p>
      <ErrorSummary problem={problem} />
      <h2 class="up4">{isWaiting ? 'Change' : 'Description'}</h2>
      <Lines text={tool.diff && isWaiting ? tool.diff.join('\n') : tool.text} />
      {isWaiting && (
        <form class="up3" method="post" action={`${remotePath}/tools`}>
          <Choice tool={tool} />
          <button type="submit" class="btn" name="action" value="accept">
            {tool.state === 'gone' ? 'Delete' : 'Accept change'}
          </button>
        </form>
      )}
      <form class="form up4" method="post" action={`${remotePath}/tools`}>
        <Choice tool={tool} />
        <fieldset>
          <MappingFields server={tool.server} typed={typed} />
        </fieldset>
        <div class="acts">
          <button type="submit" class="btn" name="action" value="map">
            Set grant and tier
          </button>
          {tool.grant !== null && (
            <button type="submit" class="btn" name="action" value="hide">
              Hide
            </button>
          )}
        </div>
      </form>
    </>
  )
}

const Choice: FC<{ tool: RemoteToolText }> = ({ tool }) => (
  <>
    <input type="hidden" name="server" value={tool.server} />
    <input type="hidden" name="tool" value={toChoice(tool, true)} />
    <input type="hidden" name="from" value="tool" />
  </>
)

const explainState = ({ state, problem }: RemoteToolText): string =>
  ({
    usable: 'Available.',
    unmapped: 'Hidden: set its grant and tier.',
    unreadable: `Hidden: ${problem}.`,
    changed: 'Hidden: its server changed the description.',
    gone: 'Hidden: its server no longer has the tool.',
  })[state]
