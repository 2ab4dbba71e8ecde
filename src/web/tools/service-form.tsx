import type { FC } from 'hono/jsx'
import type { ServiceInput, ServiceSummary } from '../../mcp-servers/contract/tool-admin'

/** A service as form fields: one host or header a line. */
export type TypedService = Record<(typeof serviceFields)[number], string>

export const serviceFields = [
  'server',
  'name',
  'base_url',
  'credential',
  'headers',
  'hosts',
  'format',
  'allow_http',
  'allow_private',
] as const

const emptyService: TypedService = {
  server: 'http',
  name: '',
  base_url: '',
  credential: '',
  headers: '',
  hosts: '',
  format: 'json',
  allow_http: '',
  allow_private: '',
}

/** Converts a service to form fields. */
export const toTyped = (line: ServiceSummary): TypedService => ({
  server: line.server,
  name: line.name,
  base_url: line.base_url,
  credential: line.credential ?? '',
  headers: Object.entries(line.headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n'),
  hosts: furtherHosts(line).join('\n'),
  format: line.format,
  allow_http: line.allow_http ? 'on' : '',
  allow_private: line.allow_private ? 'on' : '',
})

/** Returns the allowed hosts besides that of the base URL. */
export function furtherHosts({ base_url, hosts }: ServiceSummary): string[] {
  const own = URL.canParse(base_url) ? new URL(base_url).host : ''
  return hosts.filter((host) => host !== own)
}

/** Converts form fields to a service to store. */
export const toServiceInput = (typed: TypedService): ServiceInput => ({
  base_url: typed.base_url.trim(),
  credential: typed.credential.trim() || null,
  // Without headers, the built-in ones of the server apply.
  ...(typed.headers.trim() !== '' && { headers: readHeaders(typed.headers) }),
  hosts: toLines(typed.hosts),
  format: typed.format,
  allow_http: typed.allow_http === 'on',
  allow_private: typed.allow_private === 'on',
})

const toLines = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')

const readHeaders = (text: string): Record<string, string> =>
  Object.fromEntries(
    toLines(text).map((line) => {
      const at = line.indexOf(':')
      return at === -1 ? [line, ''] : [line.slice(0, at).trim(), line.slice(at + 1).trim()]
    }),
  )

/** Returns the path of the page with the form filled in for a service. */
export const changePath = ({ server, name }: { server: string; name: string }): string =>
  `/credentials?change=${encodeURIComponent(`${server}/${name}`)}#declare`

interface ServiceFormProps {
  servers: readonly string[]
  /** The submitted fields, or those of the service to edit; null: an empty form. */
  typed: TypedService | null
  isChange: boolean
}

export const ServiceForm: FC<ServiceFormProps> = ({ servers, typed, isChange }) => {
  const start = typed ?? emptyService
  return (
    <details class="up4" id="declare" {...(typed ? { open: true } : {})}>
      <summary>{isChange ? `Change ${start.server} / ${start.name}` : 'Declare a service'}</summary>
      <form class="form wide up3" method="post" action="/credentials/services">
        <fieldset>
          <Place start={start} servers={servers} isChange={isChange} />
          <Line name="base_url" label="Base URL" start={start} required />
          <Line
            name="credential"
            label="Credential"
            start={start}
            hint="Name of the credential. Leave empty to use the only one of this service."
          />
          <Lines
            name="headers"
            label="Headers"
            start={start}
            hint="One a line. {credential} is replaced: Authorization: Bearer {credential}"
          />
          <Lines
            name="hosts"
            label="Further hosts"
            start={start}
            hint="Hosts that it redirects to, one a line. They never receive a credential."
          />
          <Options start={start} />
        </fieldset>
        <div class="acts">
          <button type="submit" class="btn">
            {isChange ? 'Save' : 'Declare service'}
          </button>
          {isChange && (
            <a class="ul" href="/credentials#services">
              Cancel
            </a>
          )}
        </div>
      </form>
    </details>
  )
}

interface PartProps {
  start: TypedService
}

const Place: FC<PartProps & { servers: readonly string[]; isChange: boolean }> = (props) => {
  const { start, servers, isChange } = props
  if (isChange) {
    return (
      <>
        <input type="hidden" name="server" value={start.server} />
        <input type="hidden" name="name" value={start.name} />
        <input type="hidden" name="is_change" value="yes" />
      </>
    )
  }
  return (
    <>
      <div>
        <label for="service-server">Server</label>
        <select id="service-server" name="server">
          {servers.map((server) => (
            <option value={server} selected={start.server === server}>
              {server}
            </option>
          ))}
        </select>
      </div>
      <Line
        name="name"
        label="Name"
        start={start}
        hint="Used in grants, as in http:name:read."
        required
      />
    </>
  )
}

interface FieldProps extends PartProps {
  name: keyof TypedService
  label: string
  hint?: string
  required?: boolean
}

const Line: FC<FieldProps> = ({ name, label, start, hint, required = false }) => (
  <div>
    <label for={`service-${name}`}>{label}</label>
    <input
      id={`service-${name}`}
      name={name}
      value={start[name]}
      autocomplete="off"
      spellcheck={false}
      required={required}
    />
    {hint && <p class="meta">{hint}</p>}
  </div>
)

const Lines: FC<FieldProps> = ({ name, label, start, hint }) => (
  <div>
    <label for={`service-${name}`}>{label}</label>
    <textarea id={`service-${name}`} name={name} rows={2} spellcheck={false} autocomplete="off">
      {start[name]}
    </textarea>
    {hint && <p class="meta">{hint}</p>}
  </div>
)

const Options: FC<PartProps> = ({ start }) => (
  <div>
    <label for="service-format">Response format</label>
    <select id="service-format" name="format">
      <option value="json" selected={start.format === 'json'}>
        JSON; a web page is an error
      </option>
      <option value="any" selected={start.format === 'any'}>
        Any
      </option>
    </select>
    <label class="check up2">
      <input type="checkbox" name="allow_http" checked={start.allow_http === 'on'} /> Allow plain
      http
    </label>
    <label class="check">
      <input type="checkbox" name="allow_private" checked={start.allow_private === 'on'} /> Allow
      private addresses
    </label>
  </div>
)
