import type { RemoteToolQuery, RemoteToolState } from '../../mcp-servers/contract/tool-admin'
import { remoteServerPath } from '../../shared/paths'

export const remotePath = '/tools/remote'

export const stateLabels: Record<RemoteToolState, string> = {
  usable: 'Available',
  unmapped: 'Hidden',
  changed: 'Changed',
  gone: 'Removed by its server',
  unreadable: 'Unreadable',
}

/** The fields of the filter form; '' for an empty one. */
export type ToolFilterValues = Record<'q' | 'state' | 'read_only', string>

/** @param read returns a field of a query or form, '' when it is missing */
export const readFilterValues = (read: (name: string) => string): ToolFilterValues => ({
  q: read('q').trim().slice(0, 200),
  state: Object.hasOwn(stateLabels, read('state')) ? read('state') : '',
  read_only: read('read_only') === 'on' ? 'on' : '',
})

export const toToolFilter = (
  values: ToolFilterValues,
): Pick<RemoteToolQuery, 'q' | 'state' | 'readOnly'> => ({
  q: values.q,
  ...(values.state !== '' && { state: values.state as RemoteToolState }),
  readOnly: values.read_only === 'on',
})

/** Returns the path of a server's tools with a filter, and with the page after a cursor. */
export function toolListPath(
  server: string,
  values: Partial<ToolFilterValues>,
  cursor = '',
): string {
  const given = Object.entries({ ...values, cursor }).filter(([, value]) => value !== '')
  const query = new URLSearchParams(given).toString()
  return `${remoteServerPath(server)}${query && `?${query}`}`
}
