import type { ErrorDetail } from '../../shared/errors'
import { findProgram } from '../executors/executor'
import { programs, programsFor, sharedProtocols } from '../executors/programs'
import type { Model } from '../models/model-port'
import { protocolsOf, providersFor } from '../models/model-protocols'
import type { Definition } from './definition'
import type { YamlSource } from './yaml-source'

/** Finds models of a coding agent whose provider speaks none of its protocols, with what would work. */
export function findUnfitModels(
  { executor, brain }: Pick<Definition, 'executor' | 'brain'>,
  models: Pick<Model, 'id' | 'provider'>[],
  source: YamlSource,
): ErrorDetail[] {
  const program = findProgram(executor)
  if (program === null) return []
  const providers = providersFor(programs[program].protocols).filter((each) => each !== 'offline')
  return models.flatMap(({ id, provider }) => {
    const spoken = protocolsOf(provider)
    if (sharedProtocols(program, spoken).length > 0) return []
    const others = programsFor(spoken)
    const types = others.length > 0 ? `, or set type to ${others.join(' or ')}` : ''
    const message = `${program} cannot use ${id}: it needs a model of ${providers.join(' or ')}. Choose one${types}`
    return [{ path: source.locate(locateModel(brain, id)), message }]
  })
}

function locateModel({ provider, alternatives }: Definition['brain'], id: string): PropertyKey[] {
  const index = (alternatives ?? []).indexOf(id)
  if (index >= 0) return ['brain', 'alternatives', index]
  return ['brain', provider === undefined ? 'model' : 'provider']
}
