/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelEqualMaps.h"
#include "gigapixelUniformTiles.h"
#include "execute/gigapixelKeptMaps.h"

namespace gigapixel
{

bool
EqualMaps::FindConstants(const TileData & data, int channels, std::vector<char> & constants)
{
  const Region & window = data.tile.window;
  if (window.width > 0)
  {
    if (!IsUniform(data.rows, window.width, window.height, channels))
    {
      return false;
    }
    constants.assign(data.rows.first, data.rows.first + channels);
  }
  for (const TileProgram::Step & step : data.tile.program->steps)
  {
    const bool isKept = step.sources.empty() && data.kept->Holds(step.operation);
    if (isKept && !data.kept->GetMap(step.operation).FindConstant(step.output, constants))
    {
      return false;
    }
  }
  return true;
}

bool
EqualMaps::Copy(const TileData & data, const Key & key)
{
  const TileProgram & program = *data.tile.program;
  Box                 from;
  {
    const std::lock_guard<std::mutex> lock(m_Mutex);
    const auto                        found = m_Computed.find(key);
    if (found == m_Computed.end())
    {
      return false;
    }
    from = found->second;
  }
  data.kept->GetMap(program.steps.back().operation).Copy(from, program.core);
  return true;
}

} // namespace gigapixel
