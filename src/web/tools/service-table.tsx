import type { FC } from 'hono/jsx'
import type { ServiceSummary } from '../../mcp-servers/contract/tool-admin'
import { TableHead } from '../parts/table-head'
import { changePath, furtherHosts } from './service-form'

interface ServiceTableProps {
  services: ServiceSummary[]
}

/** The external services of tools: added by an admin, or built into a server. */
export const ServiceTable: FC<ServiceTableProps> = ({ services }) =>
  services.length === 0 ? (
    <div class="empty">
      <p>
        <strong>No services yet.</strong>
        Add a service below, then allow its grants for agents.
      </p>
    </div>
  ) : (
    <table class="tbl fold">
      <TableHead columns={['Service', 'Base URL', 'Headers', 'Credential', { hidden: 'Change' }]} />
      <tbody>
        {services.map((line) => (
          <ServiceRow line={line} />
        ))}
      </tbody>
    </table>
  )

const ServiceRow: FC<{ line: ServiceSummary }> = ({ line }) => (
  <tr id={`service-${line.server}-${line.name}`} data-row>
    <th scope="row">
      {line.server} / <b>{line.name}</b>
      <div class="meta">
        {line.updated_by === null ? 'built in' : `added by ${line.updated_by}`}
      </div>
    </th>
    <td class="whole">
      <code>{line.base_url}</code>
      <ServiceOptions line={line} />
    </td>
    <td class="whole" data-l="Headers">
      <span>
        {Object.entries(line.headers).map(([name, value]) => (
          <div>
            <code>
              {name}: {value}
            </code>
          </div>
        ))}
        {Object.keys(line.headers).length === 0 && <span class="meta">none</span>}
      </span>
    </td>
    <td class="whole" data-l="Credential">
      {line.credential ?? <span class="meta">the service’s only one</span>}
    </td>
    <td class="whole">
      <a class="ul" href={changePath(line)}>
        Change<span class="vh"> {line.name}</span>
      </a>
      {line.is_built_in || (
        <details class="danger">
          <summary>
            Delete<span class="vh"> {line.name}</span>
          </summary>
          <form class="up2" method="post" action="/credentials/services/delete">
            <input type="hidden" name="server" value={line.server} />
            <input type="hidden" name="name" value={line.name} />
            <button type="submit" class="btn">
              Delete {line.server} / {line.name}
            </button>
          </form>
        </details>
      )}
    </td>
  </tr>
)

/** The options of a service that extend its access beyond https to one host. */
const ServiceOptions: FC<{ line: ServiceSummary }> = ({ line }) => {
  const further = furtherHosts(line)
  const words = [
    ...(further.length > 0 ? [`also ${further.join(', ')}`] : []),
    ...(line.allow_http ? ['plain http'] : []),
    ...(line.allow_private ? ['private addresses'] : []),
    ...(line.format === 'any' ? ['any format'] : []),
  ]
  return words.length === 0 ? null : <div class="meta">{words.join(', ')}</div>
}
